"""What people read: tables, figures, wording, the page and the tracker."""

// Sorts tables by a click on a column header, and filters their rows and columns by text.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const value = (row, i) => {
    const cell = row.cells[i];
    const number = parseFloat(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));
    return Number.isNaN(number) ? cell.textContent.trim() : number;
  };
  const blank = (v) => v === "" || v === "–" || v === "failed";
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    head.setAttribute("aria-sort", "none");
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].sort((x, y) => {
        const [a, b] = [value(x, i), value(y, i)];
        if (blank(a) || blank(b)) return blank(a) - blank(b);
        return up ? compare(a, b) : compare(b, a);
      });
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
  const add = (what, show) => {
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = `Show ${what} with …`;
    input.setAttribute("aria-label", `Show only the ${what} that contain this text`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      show((text) => words.every((word) => text.toLowerCase().includes(word)));
    });
    table.parentElement.before(input);
  };
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length > 5) {
    add("rows", (found) => { for (const row of body.rows) row.hidden = !found(row.textContent); });
  }
  if (heads.length > 6) {
    add("columns", (found) => {
      heads.forEach((head, i) => {
        const hidden = i > 0 && !found(head.textContent);
        for (const row of table.rows) row.cells[i].hidden = hidden;
      });
    });
  }
}
// The button of a command copies it.
for (const button of document.querySelectorAll(".command button")) {
  button.addEventListener("click", async () => {
    const code = button.nextElementSibling;
    try { await navigator.clipboard.writeText(code.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(code); }
  });
}
// A link into a closed <details> opens it.
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

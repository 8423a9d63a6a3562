"""Tensors of the tests are on a GPU if there is one."""


def put(library, array):
    """Convert an array to this library; on CUDA for PyTorch if it is available."""
    on_gpu = library.__name__ == "torch" and library.cuda.is_available()
    return library.asarray(array, **({"device": "cuda"} if on_gpu else {}))

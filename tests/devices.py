"""Tensors of the tests lie on a GPU where there is one."""


def put(library, array):
    """The array in this library; PyTorch's on CUDA if that is there."""
    on_gpu = library.__name__ == "torch" and library.cuda.is_available()
    return library.asarray(array, **({"device": "cuda"} if on_gpu else {}))

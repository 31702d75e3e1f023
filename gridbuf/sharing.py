"""Fields in memory that another process offers at a Unix socket, without a copy.

Sockets and JSON are loaded with the first call (share_client.py).
"""

from typing import TYPE_CHECKING

from gridbuf.validation import boolean

if TYPE_CHECKING:
    from gridbuf._core import Field


def attach(address: str, name: str, *, writable: bool = False) -> "Field":
    """A Field over an array that another process offers; nothing is copied, no page is touched.

    Parameters
    ----------
    address : str
        'unix:' and the path of the server's socket.
    name : str
        Which array, in at most 200 bytes; `gridbuf.offered` lists them.
    writable : bool, optional
        Whether the Field may be written to; the server must allow it. Default: read-only.

    Returns
    -------
    Field
        With the layout, the names of the indices and the halo of the array that is offered. The
        memory stays as long as the Field or a view of it lives, also when the server ends.

    Raises
    ------
    ValueError
        When the server does not offer that, or sends sizes that do not fit the memory.
    TypeError
        When an argument is of another type.
    OSError
        When nothing answers at the address within 10 seconds, this user may not connect, or this
        process has as many descriptors or mappings as it may have.

    Examples
    --------
    >>> import gridbuf as gb
    >>> salt = gb.attach("unix:/run/user/1000/ocean", "salt")  # doctest: +SKIP
    >>> salt.dims, salt.readonly  # doctest: +SKIP
    (('I', 'J', 'K'), True)
    >>> gb.attach("/run/user/1000/ocean", "salt")
    Traceback (most recent call last):
    ValueError: address: '/run/user/1000/ocean'; give 'unix:' and the path of a socket
    """
    from gridbuf import share_client

    if not isinstance(name, str):
        raise TypeError(f"name: expected a str, got {name!r:.200}")
    return share_client.attach(address, name, boolean(writable, "writable"))


def offered(address: str) -> tuple[str, ...]:
    """The names of the arrays that a server offers to `attach`.

    Parameters
    ----------
    address : str
        'unix:' and the path of the server's socket.

    Returns
    -------
    tuple of str
        Sorted.

    Raises
    ------
    ValueError
        When the answer is malformed.
    OSError
        When nothing answers at the address within 10 seconds, or this user may not connect.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.offered("unix:/run/user/1000/ocean")  # doctest: +SKIP
    ('salt', 'temperature')
    """
    from gridbuf import share_client

    return share_client.names(address)

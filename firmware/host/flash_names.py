"""Names of the firmware replaced by names that MicroPython has in flash: the same program.

MicroPython keeps every name of an attribute, a function or a class in memory for good, but for
those that its own code has: these lie in flash. `find` costs nothing, `lease_ms` costs 20 bytes.
What a name says to somebody else stays: to a file that is left alone, to the hardware, and
whatever is asked for as a string or by keyword.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from firmware.host.bundle import BundledFile

# boot.py and slots.py are never updated and know names of the others; the rest is data
_LEFT_ALONE = frozenset(
    {"boot.py", "main.py", "slots.py", "board.py", "description.py", "kinds.py"}
)
_DRIVERS = "node/devices/"
# What the firmware calls at MicroPython's hardware and defines itself as well: a device of a
# configuration has the shape of a pin
_HARDWARE = frozenset({"OUT", "init", "irq", "reset", "reset_cause", "value"})
_SELF = "self"
_FUNCTION = ast.FunctionDef
# Of core modules and types, the same in every port
_IN_FLASH = """
ARRAY AUTO ArithmeticError AssertionError AttributeError BFINT16 BFINT32 BFINT8 BFUINT16 BFUINT32
BFUINT8 BF_LEN BF_POS BIG_ENDIAN BaseException BytesIO CancelledError DeflateIO EACCES EADDRINUSE
EAGAIN EALREADY EBADF ECONNABORTED ECONNREFUSED ECONNRESET EEXIST EHOSTUNREACH EINPROGRESS EINVAL
EIO EISDIR ENOBUFS ENODEV ENOENT ENOMEM ENOTCONN EOFError EOPNOTSUPP EPERM ETIMEDOUT Ellipsis
Event Exception FLOAT32 FLOAT64 GZIP GeneratorExit INT INT16 INT32 INT64 INT8 IOBase IOQueue
ImportError IndentationError IndexError KeyError KeyboardInterrupt LITTLE_ENDIAN LONG LONGLONG
Lock LookupError Loop MemoryError NATIVE NameError NotImplemented NotImplementedError OSError
OrderedDict OverflowError POLLERR POLLHUP POLLIN POLLOUT PTR PinBase RAW RingIO RuntimeError SHORT
Signal SingletonGenerator StopAsyncIteration StopIteration StreamReader StreamWriter StringIO
SyntaxError SystemExit Task TaskQueue ThreadSafeFlag TimeoutError TypeError UINT UINT16 UINT32
UINT64 UINT8 ULONG ULONGLONG USHORT UnicodeError VOID ValueError VfsFat VfsLfs1 VfsLfs2 VfsPosix
VfsRom ViperTypeError ZLIB ZeroDivisionError a2b_base64 abs aclose acos acosh acquire add
addressof all any append appendleft argv array asin asinh asyncio atan atan2 atanh atexit awrite
awritestr b2a_base64 bin binascii bool bytearray bytearray_at byteorder bytes bytes_at calcsize
call_exception_handler callable ceil center chdir choice chr classmethod clear clock close cmath
collect collections compile complex const copy copysign core cos cosh count crc32 create_task
cur_task current_task decode default_exception_handler deflate degrees delattr deleter deque dict
difference difference_update digest dir disable discard divmod drain dump dumps e enable encode
endswith enumerate erf erfc errno errorcode eval event exc_info exec execfile executable exit exp
expm1 extend fabs factorial filter find float floor flush fmod format frexp from_bytes fromhex
fromkeys frozenset gamma gather gc get get_event_loop get_exception_handler get_extra_info getattr
getcwd getenv getrandbits getter getvalue globals gmtime hasattr hash hashlib heap_lock
heap_unlock heapify heappop heappush heapq help hex hexlify id idle ilistdir implementation index
inf input insert int intersection intersection_update io ioctl is_set isalpha isclose isdigit
isdisjoint isenabled isfinite isinf isinstance islower isnan isspace issubclass issubset
issuperset isupper items iter join json kbd_intr keys ldexp len lgamma list listdir load loads
locals localtime locked log log10 log2 lower lstrip machine map match math max maxsize md5 mem16
mem32 mem8 mem_alloc mem_current mem_free mem_info mem_peak mem_total memoryview micropython min
mkdir mkfs mktime modf modules mount namedtuple nan new_event_loop next object oct off on open
open_connection opt_level ord os pack pack_into partition path peek phase pi platform polar poll
pop popitem popleft pow print print_exception property ps1 ps2 push putenv qstr_info queue_read
queue_write radians randint random randrange range re read readexactly readinto readline rect
release remove rename replace repr reverse reversed rfind rindex rmdir round rpartition rsplit
rstrip run run_forever run_until_complete schedule search seed seek select sep set
set_exception_handler setattr setdefault setter sha1 sha256 sin sinh sizeof sleep sleep_ms
sleep_us slice soft_reset sort sorted split splitlines sqrt stack_use start_server startswith stat
staticmethod statvfs stderr stdin stdout stop str stream strip struct sub sum super
symmetric_difference symmetric_difference_update sys system tan tanh tau tell threshold ticks
ticks_add ticks_cpu ticks_diff ticks_ms ticks_us time time_ns time_pulse_us to_bytes trunc tuple
type uctypes umount unhexlify uniform union unlink unpack unpack_from unsetenv update upper
urandom value values version version_info vfs wait wait_closed wait_for wait_for_ms wait_io_event
write zip
"""
# What MicroPython itself looks up in an object
_LOOKED_UP = """
close errno send throw value args read write readinto seek flush ioctl count keys
mount umount stat statvfs open chdir getcwd ilistdir mkdir remove rename rmdir unlink
decode encode path name main
"""


def in_flash(files: list[BundledFile]) -> list[BundledFile]:
    """Return the same files, joined and shrunk before, with names that cost no memory."""
    trees = {file.target: ast.parse(file.content) for file in files if file.target.endswith(".py")}
    own = {target: tree for target, tree in trees.items() if target not in _LEFT_ALONE}
    bases = frozenset(name for tree in own.values() for name in _bases(tree))
    programs = {target: _Program(tree, bases) for target, tree in own.items()}
    kept = _kept(trees)
    used = set(_LOOKED_UP.split()).union(
        *(set(_words_and_strings(tree)) for tree in trees.values())
    )
    free = [word for word in _IN_FLASH.split() if word not in used]
    shared = sorted(set().union(*(program.shared() for program in programs.values())) - kept)
    common = dict(zip(shared, free, strict=False))
    left = free[len(common) :]
    made = {
        target: _Renaming(program, common, left, kept).text(own[target])
        for target, program in programs.items()
    }
    return [
        BundledFile(file.target, made[file.target].encode()) if file.target in made else file
        for file in files
    ]


def _kept(trees: Mapping[str, ast.Module]) -> frozenset[str]:
    """Return the words that mean something outside of the firmware's own files."""
    kept = {_SELF, *_HARDWARE, *_IN_FLASH.split()}
    for target, tree in trees.items():
        kept.update(target.removesuffix(".py").split("/"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                kept.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                kept.add(node.arg)
        if target in _LEFT_ALONE:
            kept.update(_words(tree))
        elif target.startswith(_DRIVERS):
            # Found by the name of its kind
            kept.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return frozenset(kept)


def _words(tree: ast.AST) -> Iterator[str]:
    """Yield every word that stands for something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                yield from (one.asname or one.name).split(".")
                yield from one.name.split(".")


def _words_and_strings(tree: ast.AST) -> Iterator[str]:
    """Yield every word that a target must not be: one of the program's is another thing."""
    yield from _words(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def _is_private(word: str) -> bool:
    return word.startswith("_") and not word.startswith("__")


def _is_special(word: str) -> bool:
    return word.startswith("__")


@dataclass(slots=True)
class _Program:
    """A file, and which of its words only it, or one class of it, has to know."""

    tree: ast.Module
    # Of all files: the classes that others are made of
    bases: frozenset[str]
    # What the file itself defines: names of its top level; attributes and methods
    globals: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    # Private attributes of each class, which nothing but its own `self` has
    of_class: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in self.tree.body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                self.globals.add(statement.name)
            else:
                self.globals.update(_stored(statement))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                self.attributes.update(_bound_in(node))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self.attributes.add(node.attr)
            elif isinstance(node, ast.arg):
                self.arguments.add(node.arg)
        self._find_own_of_classes()

    def shared(self) -> set[str]:
        """Return the words that are the same in all files."""
        own = {word for words in self.of_class.values() for word in words}
        attributes = self.attributes - own
        public = {word for word in self.globals | self.arguments if not _is_private(word)}
        return {word for word in attributes | public if not _is_special(word)}

    def _find_own_of_classes(self) -> None:
        classes = [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        alone = [node for node in classes if not _has_relatives(node, self.bases)]
        own_of = {node.name: {id(one) for one in _of_self(node)} for node in alone}
        inside = set().union(*own_of.values())
        every = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        shared = {node.attr for node in every if id(node) not in inside}
        for node in alone:
            # What a class's body binds is looked up as a name there
            shared.update(*(_stored(one) for one in node.body if not isinstance(one, _FUNCTION)))
        for node in classes:
            seen = {one.attr for one in every if id(one) in own_of.get(node.name, ())}
            found = seen | _bound_in(node) if node in alone else set()
            self.of_class[node.name] = sorted(filter(_is_private, found - shared))


def _has_relatives(node: ast.ClassDef, bases: frozenset[str]) -> bool:
    """Return True when another class sees its private attributes."""
    return node.name in bases or any(ast.unparse(one) != "Exception" for one in node.bases)


def _bases(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (ast.unparse(one).rpartition(".")[2] for one in node.bases)


def _stored(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _bound_in(node: ast.ClassDef) -> set[str]:
    bound: set[str] = set()
    for one in node.body:
        bound.update([one.name] if isinstance(one, ast.FunctionDef) else _stored(one))
    return bound


def _of_self(node: ast.ClassDef) -> Iterator[ast.Attribute]:
    for one in ast.walk(node):
        is_of_self = (
            isinstance(one, ast.Attribute)
            and isinstance(one.value, ast.Name)
            and one.value.id == _SELF
        )
        if is_of_self and isinstance(one, ast.Attribute):
            yield one


class _Renaming(ast.NodeTransformer):
    """Gives every word of a file the one that it has in flash."""

    def __init__(
        self,
        program: _Program,
        common: Mapping[str, str],
        free: Iterable[str],
        kept: frozenset[str],
    ) -> None:
        self._common = common
        self._free = list(free)
        self._kept = kept
        own = sorted(word for word in program.globals if _is_private(word) and word not in kept)
        own = [word for word in own if word not in common]
        # Names and attributes are looked up in different places: both may have the same ones
        self._names = {**common, **dict(zip(own, self._free, strict=False))}
        self._of_class = program.of_class
        self._attributes = dict(common)

    def text(self, tree: ast.Module) -> str:
        """Return the file."""
        return ast.unparse(self.visit(tree)) + "\n"

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        own = [word for word in self._of_class[node.name] if word not in self._kept]
        before = self._attributes
        self._attributes = {**before, **dict(zip(own, self._free, strict=False))}
        node.name = self._names.get(node.name, node.name)
        node.bases = [self.visit(one) for one in node.bases]
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                one.name = self._attributes.get(one.name, one.name)
                self.generic_visit(one)
            else:
                self.visit(one)
        self._attributes = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self._attributes.get(node.attr, node.attr)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._names.get(node.name, node.name) if node.name else None
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._names.get(name, name) for name in node.names]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        for one in node.names:
            one.name = self._common.get(one.name, one.name)
            one.asname = self._names.get(one.asname, one.asname) if one.asname else None
        return node

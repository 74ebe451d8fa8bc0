"""A pretty printer after Lindig: documents of text, breaks, groups and nesting, with colours.

Widths count bytes of UTF-8, as jaxlib's do.
"""

import enum


class Color(enum.Enum):
    BLACK = 30
    RED = 31
    GREEN = 32
    YELLOW = 33
    BLUE = 34
    MAGENTA = 35
    CYAN = 36
    WHITE = 37
    RESET = 39


class Intensity(enum.Enum):
    DIM = 2
    NORMAL = 22
    BRIGHT = 1


class OutputFormat(enum.Enum):
    TEXT = 0
    HTML = 1


def _width(text):
    return len(text) if text.isascii() else len(text.encode())


def _name(value):
    return "None" if value is None else value.name.lower()


class Doc:
    """A document. `_annotations` counts the annotated texts within."""

    __slots__ = ("_annotations",)

    def __new__(cls, *args, **kwargs):
        if cls is Doc:
            raise TypeError("Doc is abstract and cannot be instantiated")
        return object.__new__(cls)

    def __add__(self, other):
        if not isinstance(other, Doc):
            return NotImplemented
        return ConcatDoc([self, other])

    def _format(self, width, *, use_color, output_format, separable_lines, annotation_prefix,
                source_map):
        writer = _Writer(width, use_color, output_format, separable_lines, source_map)
        return writer.write(self, annotation_prefix)


class NilDoc(Doc):
    __slots__ = ()

    def __init__(self):
        self._annotations = 0

    def __repr__(self):
        return "nil"


class TextDoc(Doc):
    __slots__ = ("text", "annotation", "anchor", "href", "width")

    def __init__(self, text, annotation=None, anchor=None, href=None):
        self._annotations = 0 if annotation is None else 1
        self.text = text
        self.annotation = annotation
        self.anchor = anchor
        self.href = href
        self.width = _width(text)

    def __repr__(self):
        out = f'text("{self.text}"'
        for name in ("annotation", "anchor", "href"):
            if getattr(self, name) is not None:
                out += f', {name}="{getattr(self, name)}"'
        return out + ")"


class ConcatDoc(Doc):
    __slots__ = ("children",)

    def __init__(self, children):
        self._annotations = sum([child._annotations for child in children])
        self.children = children

    def __repr__(self):
        return f"concat({', '.join([repr(c) for c in self.children])})"


class BreakDoc(Doc):
    __slots__ = ("text", "width")

    def __init__(self, text):
        self._annotations = 0
        self.text = text
        self.width = _width(text)

    def __repr__(self):
        return f'break("{self.text}")'


class _Wrapper(Doc):
    """A document of one child."""

    __slots__ = ("child",)

    def __init__(self, child):
        self._annotations = child._annotations
        self.child = child


class GroupDoc(_Wrapper):
    __slots__ = ()

    def __repr__(self):
        return f"group({self.child!r})"


class NestDoc(_Wrapper):
    __slots__ = ("n",)

    def __init__(self, n, child):
        super().__init__(child)
        self.n = n

    def __repr__(self):
        return f"nest({self.n}, {self.child!r})"


class SourceMapDoc(_Wrapper):
    __slots__ = ("source",)

    def __init__(self, child, source):
        super().__init__(child)
        self.source = source

    def __repr__(self):
        return f"source({self.child!r}, {self.source!r})"


class ColorDoc(_Wrapper):
    __slots__ = ("foreground", "background", "intensity")

    def __init__(self, child, foreground, background, intensity):
        super().__init__(child)
        self.foreground = foreground
        self.background = background
        self.intensity = intensity

    def __repr__(self):
        return (f"color({self.child!r}, {_name(self.foreground)}, {_name(self.background)}, "
                f"{_name(self.intensity)})")


def _fits(doc, width):
    """Returns whether doc, printed without breaks, is at most `width` wide."""
    agenda = [doc]
    while width >= 0 and agenda:
        doc = agenda.pop()
        cls = type(doc)
        if cls is TextDoc or cls is BreakDoc:
            width -= doc.width
        elif cls is ConcatDoc:
            agenda.extend(reversed(doc.children))
        elif cls is not NilDoc:
            agenda.append(doc.child)
    return width >= 0


def _sparse(doc):
    """Returns whether no two annotated texts in doc have a break between them."""
    if not doc._annotations:
        return True
    annotations = 0
    seen_break = False
    agenda = [doc]
    while agenda:
        doc = agenda.pop()
        cls = type(doc)
        if cls is TextDoc:
            if doc.annotation is not None:
                if annotations >= 1 and seen_break:
                    return False
                annotations -= 1
        elif cls is BreakDoc:
            seen_break = True
        elif cls is ConcatDoc:
            agenda.extend(reversed(doc.children))
        elif cls is not NilDoc:
            agenda.append(doc.child)
    return True


# Colours are tuples (foreground, background, intensity).
_DEFAULT = (Color.RESET, Color.RESET, Intensity.NORMAL)
_ANNOTATION = (Color.RESET, Color.RESET, Intensity.DIM)
_NO_SOURCE = object()
_ESCAPES = str.maketrans(
    {"&": "&amp;", '"': "&quot;", "'": "&apos;", "<": "&lt;", ">": "&gt;"})


def _ansi(old, new):
    codes = []
    if old[0] is not new[0]:
        codes.append(str(new[0].value))
    if old[1] is not new[1]:
        codes.append(str(new[1].value + 10))
    if old[2] is not new[2]:
        codes.append(str(new[2].value))
    return f"\033[{';'.join(codes)}m"


def _html(old, new):
    out = "</span>" if old != _DEFAULT else ""
    if new == _DEFAULT:
        return out
    classes = []
    if new[0] is not Color.RESET:
        classes.append(f"ansi-fg-{new[0].value}")
    if new[1] is not Color.RESET:
        classes.append(f"ansi-bg-{new[1].value + 10}")
    if new[2] is not Intensity.NORMAL:
        classes.append(f"ansi-intensity-{new[2].value}")
    return f'{out}<span class="{" ".join(classes)}">'


class _Writer:
    """Writes one document; `color` is None where none are used."""

    def __init__(self, width, use_color, output_format, separable_lines, source_map):
        self.width = width
        self.use_color = use_color
        self.color = _DEFAULT if use_color else None
        self.html = output_format is OutputFormat.HTML
        self.separable_lines = separable_lines
        self.source_map = source_map
        self.line_source_map = []
        self.source_start = 0
        self.source = _NO_SOURCE
        self.lines = []  # (text, width, annotations)
        self.parts = []
        self.column = 0
        self.annotations = []

    def set_color(self, color):
        """Returns the text that changes the colour."""
        old = self.color
        if old is None or old == color:
            return ""
        self.color = color
        return _html(old, color) if self.html else _ansi(old, color)

    def reset_color(self):
        text = self.set_color(_DEFAULT)
        if text:
            self.parts.append(text)

    def add(self, text):
        self.parts.append(text.translate(_ESCAPES) if self.html else text)

    def end_source(self):
        """Ends the region of the current source at this place; returns the place."""
        self.parts = ["".join(self.parts)]
        at = _width(self.parts[0])
        if self.source_start != at and self.source is not _NO_SOURCE:
            self.line_source_map.append((self.source_start, at, self.source))
        return at

    def end_line(self, next_indent):
        if self.source_map is not None:
            self.reset_color()
            self.end_source()
            self.source_map.append(self.line_source_map)
            self.line_source_map = []
            self.source_start = next_indent
        if self.separable_lines or self.annotations:
            self.reset_color()
        self.lines.append(("".join(self.parts), self.column, self.annotations))

    def text(self, doc, color):
        change = self.set_color(color)
        if change:
            self.parts.append(change)
        linked = self.html and (doc.anchor is not None or doc.href is not None)
        if linked:
            anchor = "" if doc.anchor is None else f' id="{doc.anchor}"'
            href = "" if doc.href is None else f' href="{doc.href}"'
            self.parts.append(f"<a{anchor}{href}>")
        self.add(doc.text)
        if linked:
            self.parts.append("</a>")
        if doc.annotation is not None:
            self.annotations.append(doc.annotation)
        self.column += doc.width

    def brk(self, doc, indent, broken, color):
        if broken:
            self.end_line(indent)
            self.parts = [" " * indent]
            self.annotations = []
            self.column = indent
            return
        change = self.set_color(color)
        if change:
            self.parts.append(change)
        self.add(doc.text)
        self.column += doc.width

    def write(self, doc, annotation_prefix):
        agenda = [(0, True, doc, _DEFAULT, _NO_SOURCE)]
        while agenda:
            indent, broken, doc, color, source = agenda.pop()
            if self.source_map is not None and source is not self.source:
                self.reset_color()
                self.source_start, self.source = self.end_source(), source
            cls = type(doc)
            if cls is TextDoc:
                self.text(doc, color)
            elif cls is BreakDoc:
                self.brk(doc, indent, broken, color)
            elif cls is ConcatDoc:
                for child in reversed(doc.children):
                    agenda.append((indent, broken, child, color, source))
            elif cls is GroupDoc:
                flat = _fits(doc, self.width - self.column) and _sparse(doc)
                agenda.append((indent, not flat, doc.child, color, source))
            elif cls is NestDoc:
                agenda.append((indent + doc.n, broken, doc.child, color, source))
            elif cls is SourceMapDoc:
                agenda.append((indent, broken, doc.child, color, doc.source))
            elif cls is ColorDoc:
                color = (doc.foreground or color[0], doc.background or color[1],
                         doc.intensity or color[2])
                agenda.append((indent, broken, doc.child, color, source))
        self.end_line(0)
        return self.join(annotation_prefix)

    def join(self, annotation_prefix):
        """Returns the lines, each with its annotations in a column on the right."""
        widest = max([width for _, width, _ in self.lines])
        out = []
        for i, (text, width, annotations) in enumerate(self.lines):
            out.append("\n" + text if i else text)
            for j, annotation in enumerate(annotations):
                if j:
                    out.append("\n")
                if self.use_color:
                    out.append(self.set_color(_ANNOTATION))
                out.append(" " * (widest if j else widest - width))
                out.append(annotation_prefix + annotation)
                if self.use_color:
                    out.append(self.set_color(_DEFAULT))
        if self.use_color:
            out.append(self.set_color(_DEFAULT))
        return "".join(out)


_NIL = NilDoc()


def nil():
    """An empty document."""
    return _NIL


def text(text, annotation=None, anchor=None, href=None):
    """Literal text."""
    return TextDoc(text, annotation, anchor, href)


def concat(children):
    """Concatenation of documents."""
    return ConcatDoc(list(children))


def brk(text=" "):
    """A break: a newline, or `text` where the enclosing group fits on its line."""
    return BreakDoc(text)


def group(doc, /):
    """A group: all its breaks are texts if it then fits on the line, else newlines."""
    return GroupDoc(doc)


def nest(n, child):
    """Increases the indentation level by `n`."""
    return NestDoc(n, child)


def color(child, foreground=None, background=None, intensity=None):
    """ANSI colors of the text in the child; without `use_color` they have no effect."""
    return ColorDoc(child, foreground, background, intensity)


def source_map(doc, source):
    """Relates the text of doc to the object that produced it, in `_format`'s `source_map`."""
    return SourceMapDoc(doc, source)

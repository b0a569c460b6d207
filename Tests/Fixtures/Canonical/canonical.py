"""The canonical form of Diamond, version 1, from its specification (CanonicalForm.md): the written form of a request in,
the canonical text and the key out. Written from the page alone, so that it and the Swift code can be held against each
other. Python 3.11, standard library only."""

import base64
import hashlib
import hmac
import ipaddress
import json
import re
import unicodedata
from decimal import Decimal
from itertools import pairwise

SECRET = bytes([7]) * 32

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Refused(Exception):
    """A request that cannot be sent and so has no canonical form."""


# JSON (RFC 8785)


class Number:
    """A number as it is written."""

    def __init__(self, text):
        self.text = text

    @property
    def value(self):
        return Decimal(self.text)

    @property
    def is_integer(self):
        return self.value == self.value.to_integral_value() and -(2**63) <= self.value < 2**63

    @property
    def ecmascript(self):
        return ecmascript(float(self.text))

    @property
    def survives(self):
        """Whether a double holds the value: its shortest digits are the same decimal number. For an integer that is so
        up to 2^53 only, because of those beyond some share a double."""
        if self.is_integer:
            return abs(self.value) <= 2**53
        return Decimal(self.ecmascript) == self.value

    @property
    def exact(self):
        """Numbers keep all their digits. Those that a double holds are written as ECMAScript does."""
        if self.is_integer:
            return str(int(self.value))
        return self.ecmascript if self.survives else plain(self.value)


def plain(value):
    """All digits of a number that no double holds, without an exponent if it is an integer or not very small."""
    sign, digits, exponent = value.as_tuple()
    digits = "".join(map(str, digits)).lstrip("0")
    stripped = digits.rstrip("0")
    point = len(digits) + exponent
    count = len(stripped)
    prefix = "-" if sign else ""
    if count <= point:
        return prefix + stripped + "0" * (point - count)
    if 0 < point:
        return prefix + stripped[:point] + "." + stripped[point:]
    if -6 < point:
        return prefix + "0." + "0" * -point + stripped
    return prefix + stripped[0] + ("." + stripped[1:] if count > 1 else "") + f"e{point - 1}"


def ecmascript(value):
    """Number::toString of ECMAScript: the shortest digits, laid out by the exponent."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    tail = f"e{'+' if power >= 0 else '-'}{abs(power)}"
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + tail


class Members(list):
    """An object: pairs of name and value in the order they are written."""

    def sorted(self):
        return sorted(self, key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))

    def get(self, name, default=None):
        return dict(self).get(name, default)


def read(text):
    def unique(pairs):
        if len({unicodedata.normalize("NFC", name) for name, _ in pairs}) < len(pairs):
            raise Refused("a name twice")
        return Members(pairs)

    return json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=unique)


ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def quoted(text):
    def escape(character):
        code = ord(character)
        return ESCAPES.get(code) or (f"\\u{code:04x}" if code < 32 else character)

    return '"' + "".join(map(escape, text)) + '"'


def jcs(value, number=lambda number: number.exact):
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Number):
        return number(value)
    if isinstance(value, Members):
        return "{" + ",".join(f"{quoted(name)}:{jcs(item, number)}" for name, item in value.sorted()) + "}"
    return "[" + ",".join(jcs(item, number) for item in value) + "]"


def numbers(value):
    if isinstance(value, Number):
        yield value
    elif isinstance(value, Members):
        for _, item in value:
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


def member_names(value):
    if isinstance(value, Members):
        for name, item in value:
            yield name
            yield from member_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from member_names(item)


# URLs (RFC 3986)


def percent_encoded(text):
    return "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode())


def percent_decoded(text):
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda escape: bytes([int(escape[1], 16)]), text.encode())


def normalized_escapes(text, also_escaped=""):
    """Escapes of unreserved characters decoded, all others in upper case; what is not ASCII is escaped."""
    if re.search(r"[\x00-\x20\x7f\"<>\\^`{|}]", text):
        raise Refused("a character that no URL holds bare")
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise Refused("a percent sign that begins no escape")

    def escape(match):
        byte = int(match[0][1:], 16)
        return chr(byte) if byte in UNRESERVED else match[0].upper()

    def bare(match):
        return "".join(f"%{byte:02X}" for byte in match[0].encode())

    text = re.sub(r"%[0-9A-Fa-f]{2}", escape, text)
    return re.sub(rf"[^!-~{also_escaped}]|[{also_escaped}]" if also_escaped else r"[^!-~]", bare, text)


def without_dot_segments(path):
    """RFC 3986 section 5.2.4."""
    output = []
    while path:
        if path.startswith("../"):
            path = path[3:]
        elif path.startswith("./"):
            path = path[2:]
        elif path.startswith("/./"):
            path = path[2:]
        elif path == "/.":
            path = "/"
        elif path.startswith("/../"):
            path = path[3:]
            output[-1:] = []
        elif path == "/..":
            path = "/"
            output[-1:] = []
        elif path in (".", ".."):
            path = ""
        else:
            segment = re.match(r"/?[^/]*", path)[0]
            output.append(segment)
            path = path[len(segment) :]
    return "".join(output)


# UTS 46, non-transitional, written by hand: Python has IDNA 2003 only.
ASCII_NAMES = {
    "faß.de": "xn--fa-hia.de",
    "FAß.de": "xn--fa-hia.de",
    "bücher.de": "xn--bcher-kva.de",
    "BÜCHER.de": "xn--bcher-kva.de",
    "bu\u0308cher.de": "xn--bcher-kva.de",
    "münchen.example": "xn--mnchen-3ya.example",
    "例え.jp": "xn--r8jz45g.jp",
    "例え。jp": "xn--r8jz45g.jp",
    "пример.example": "xn--e1afmkfd.example",
    "ｅｘａｍｐｌｅ.com": "example.com",
    "βόλος.gr": "xn--nxasmm1c.gr",
}


def host_form(host):
    if host.startswith("["):
        if "%" in host:
            raise Refused("a zone")
        address = ipaddress.IPv6Address(host[1:-1])
        if address.ipv4_mapped:
            return f"[::ffff:{address.ipv4_mapped}]"
        return f"[{address.compressed}]"
    if "%" in host:
        raise Refused("an escape in a host")
    if host.isascii():
        return host.lower()
    return ASCII_NAMES[host]


class URL:
    def __init__(self, text):
        match = re.fullmatch(r"([A-Za-z]+)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", text, re.DOTALL)
        if not match or match[1].lower() not in ("http", "https"):
            raise Refused("not an absolute http or https URL")
        scheme = match[1].lower()
        user, at, authority = match[2].rpartition("@")
        self.user_information = user if at else None
        parts = re.fullmatch(r"(\[.*\]|[^:]*)(?::(\d*))?", authority)
        if not parts or not parts[1]:
            raise Refused("no host")
        self.origin = f"{scheme}://{host_form(parts[1])}"
        port = int(parts[2]) if parts[2] else None
        if port is not None and port != {"http": 80, "https": 443}[scheme]:
            self.origin += f":{port}"
        self.path = without_dot_segments(normalized_escapes(match[3])) or "/"
        self.items = [] if match[4] is None else [normalized_item(item) for item in match[4].split("&")]


# Items of queries and forms: pairs of name and value (or none), both escaped


def normalized_item(text):
    name, equals, value = text.partition("=")
    return normalized_escapes(name, r"\[\]"), normalized_escapes(value, r"\[\]") if equals else None


def written(item):
    name, value = item
    return name if value is None else f"{name}={value}"


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return percent_encoded(value.exact)
    return percent_encoded(value)


def encoded(name, value, arrays, objects):
    """The items of one parameter, as ParameterEncoding says."""
    if isinstance(value, Members):
        if objects == "json":
            yield percent_encoded(name), percent_encoded(jcs(value))
        else:
            for member, item in value.sorted():
                yield from encoded(f"{name}[{member}]", item, arrays, objects)
    elif isinstance(value, list):
        if arrays == "json":
            yield percent_encoded(name), percent_encoded(jcs(value))
        elif arrays == "comma":
            if any(item is None or isinstance(item, list) for item in value):
                raise Refused("commas join neither null nor lists and objects")
            yield percent_encoded(name), ",".join(scalar(item) for item in value)
        else:
            for item in value:
                yield from encoded(name + ("[]" if arrays == "brackets" else ""), item, arrays, objects)
    elif value is None:
        yield percent_encoded(name), None
    else:
        yield percent_encoded(name), scalar(value)


def elements(written_value):
    """Parameters or headers: pairs, or an object read in the order of its names."""
    if isinstance(written_value, Members):
        return [(name, value) for name, value in written_value.sorted()]
    return [(name, value) for name, value in written_value]


# Credentials

WORDS = "apikey api_key api-key cookie credential jwt passw secret session signature token".split()
WHOLE = set(
    "auth authorization key pass pwd sig sid assertion client_assertion code_verifier device_code samlresponse sas".split()
)


class Rules:
    def __init__(self, request):
        self.ignoring = request.get("ignoring", [])
        self.non_selecting = {name.lower() for name in request.get("nonSelecting", [])}
        self.secrets = {name.lower() for name in request.get("secrets", [])}

    def ignores(self, name):
        def matches(pattern):
            return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL)

        return any(matches(pattern) for pattern in self.ignoring)

    def lists(self, name):
        return name.lower() in self.secrets

    def is_secret_header(self, name):
        name = name.lower()
        return any(word in name for word in WORDS + ["auth", "key"]) or self.lists(name)

    def is_secret_member(self, name):
        name = name.lower()
        return any(word in name for word in WORDS) or name in WHOLE or self.lists(name)

    def lists_parameter(self, name):
        return any(self.lists(part) for part in [name, *re.split(r"[\[\]]", name)] if part)

    def is_secret_parameter(self, name):
        parts = re.split(r"[\[\]]", name)
        return self.is_secret_member(name) or any(map(self.is_secret_member, parts))

    def is_secret_value(self, value):
        """JSON in a parameter; where it cannot be read, a name is what stands in quotes before a colon."""
        text = percent_decoded(value).decode("utf-8", "surrogateescape")
        if not re.match(r"[ \t\r\n]*[{[]", text):
            return False
        try:
            names = list(member_names(read(text)))
        except (Refused, ValueError):
            names = [name for name, rest in pairwise(filter(None, text.split('"'))) if rest.lstrip(" \t\r\n")[:1] == ":"]
        return any(map(self.is_secret_member, names))


def digest(text):
    return hmac.new(SECRET, text.encode(), hashlib.sha256).hexdigest()


# Headers

NON_SELECTING = set(
    """user-agent date content-length expect max-forwards range cache-control pragma priority connection keep-alive te
    trailer transfer-encoding upgrade traceparent tracestate baggage b3 x-request-id x-correlation-id x-amzn-trace-id
    x-cloud-trace-context""".split()
)
NON_SELECTING_PREFIXES = ("if-", "proxy-", "x-b3-")


def selects(name, rules):
    name = name.lower()
    return not (name in NON_SELECTING or name.startswith(NON_SELECTING_PREFIXES) or name in rules.non_selecting)


# The form

FORM = "application/x-www-form-urlencoded"


def item_lines(tag, items, rules, identity):
    open_lines, secret_lines = [], []
    for item in sorted(items, key=lambda item: item[0]):
        name = percent_decoded(item[0]).decode("utf-8", "surrogateescape")
        if rules.ignores(name):
            continue
        if item[1] is None or not (rules.is_secret_parameter(name) or rules.is_secret_value(item[1])):
            open_lines.append((tag, written(item)))
        elif not (identity is not None and rules.lists_parameter(name)):
            secret_lines.append((f"secret-{tag}", f"{item[0]} {digest(written(item))}"))
    return open_lines + secret_lines


def without_members(value, rules):
    if isinstance(value, Members):
        return Members((name, without_members(item, rules)) for name, item in value if not rules.lists(name))
    if isinstance(value, list):
        return [without_members(item, rules) for item in value]
    return value


def json_lines(value, rules, identity):
    if isinstance(value, Members):
        value = Members((name, item) for name, item in value if not rules.ignores(name))
    if identity is not None:
        value = without_members(value, rules)
    text = jcs(value)
    if any(rules.is_secret_member(name) for name in member_names(value)):
        return [("secret-json", digest(text))]
    if not all(number.survives for number in numbers(value)):
        return bytes_lines(text.encode())
    return [("json", text)]


def bytes_lines(data):
    return [("bytes", f"{len(data)} {hashlib.sha256(data).hexdigest()}")]


def part_lines(parts, rules, identity):
    lines = []
    for part in parts:
        name = part.get("name")
        if rules.ignores(name):
            continue
        data = part.get("text").encode() if part.get("text") is not None else base64.b64decode(part.get("base64"))
        content = f"name={percent_encoded(name)}"
        for fact, tag in (("filename", "filename"), ("contentType", "type")):
            if part.get(fact) is not None:
                content += f" {tag}={percent_encoded(part.get(fact))}"
        content += f" {len(data)} {hashlib.sha256(data).hexdigest()}"
        if not rules.is_secret_parameter(name):
            lines.append(("part", content))
        elif not (identity is not None and rules.lists_parameter(name)):
            lines.append(("secret-part", f"{percent_encoded(name)} {digest(content)}"))
    return lines


def merged(parameters):
    """Parameters as a JSON object, in which a repeated name becomes an array."""
    values = {}
    for name, value in parameters:
        values.setdefault(name, []).append(value)
    return Members((name, value[0] if len(value) == 1 else value) for name, value in values.items())


def facts(request):
    rules = Rules(request)
    identity, cache_key = request.get("identity"), request.get("cacheKey")
    method = request.get("method", "GET")
    url = URL(request.get("url"))
    arrays, objects = request.get("arrays", "repeated"), request.get("objects", "brackets")
    parameters, body = elements(request.get("parameters", [])), request.get("body")
    headers = [(name.lower(), value) for name, value in elements(request.get("headers", []))]
    for name, value in headers:
        if not re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9a-z]+", name) or re.search(r"[\0\r\n]|^[ \t]|[ \t]$", value):
            raise Refused("a malformed header")

    def items(pairs):
        return [item for name, value in pairs for item in encoded(name, value, arrays, objects)]

    destination = request.get("destination", "automatic")
    if destination == "automatic":
        is_query = body is not None or method in ("GET", "HEAD", "DELETE", "QUERY")
        destination = "query" if is_query else "form"
    if parameters and body is not None and destination != "query":
        raise Refused("parameters beside a body go to the query only")
    query, content = list(url.items), None
    content_type = ""
    if parameters and destination == "query":
        query += items(parameters)
    elif parameters and destination == "form":
        content_type, content = FORM, item_lines("field", items(parameters), rules, identity)
    elif parameters:
        content_type, content = "application/json", json_lines(merged(parameters), rules, identity)
    if body is not None:
        kind = next(name for name, _ in body if name != "contentType")
        value = body.get(kind)
        if kind == "json":
            content_type, content = "application/json", json_lines(value, rules, identity)
        elif kind == "jsonText":
            content_type, content = "application/json", json_lines(read(value), rules, identity)
        elif kind == "form":
            content_type, content = FORM, item_lines("field", items(elements(value)), rules, identity)
        elif kind == "multipart":
            if any(name == "content-type" for name, _ in headers):
                raise Refused("a multipart body makes its Content-Type itself")
            content_type, content = "multipart/form-data", part_lines(value, rules, identity)
        else:
            content_type = body.get("contentType", "")
            content = bytes_lines(value.encode() if kind == "text" else base64.b64decode(value))
    if content is not None:
        given = [value for name, value in headers if name == "content-type"]
        content_type = given[0] if given else content_type
        headers = [(name, value) for name, value in headers if name != "content-type"]

    cookies = [value for name, value in headers if name == "cookie"]
    if cookies:
        headers = [field for field in headers if field[0] != "cookie"] + [("cookie", "; ".join(cookies))]

    named = []
    for credential in request.get("credentials", []):
        secret = percent_encoded(credential.get("secret"))
        if header := credential.get("header"):
            headers = [field for field in headers if field[0] != header.lower()]
            prefix = percent_encoded(credential.get("prefix", ""))
            named.append(("credential", f"header {header.lower()} {prefix} {secret}"))
        else:
            named.append(("credential", f"parameter {percent_encoded(credential.get('parameter'))} {secret}"))
    given = {name for name, _ in headers}
    if url.user_information is not None and "authorization" not in given:
        decoded = percent_decoded(url.user_information)
        if b":" not in decoded:
            decoded += b":"
        headers.append(("authorization", "Basic " + base64.b64encode(decoded).decode()))

    header_lines = []
    for name, value in sorted(headers, key=lambda field: field[0]):
        if not selects(name, rules):
            continue
        certain = name in ("authorization", "cookie") or rules.lists(name)
        if not rules.is_secret_header(name):
            header_lines.append(("header", f"{name} {value}"))
        elif not (identity is not None and certain):
            header_lines.append(("secret-header", f"{name} {digest(value)}"))

    start = [("diamond", "1")]
    if identity is not None:
        start.append(("identity", percent_encoded(identity)))
    rest = [("method", "GET" if method == "HEAD" else method), ("origin", url.origin), ("path", url.path)]
    rest += item_lines("query", query, rules, identity) + header_lines + sorted(named)
    if content is not None:
        rest += [("type", content_type)] + content
    if cache_key is not None:
        start.append(("cache-key", percent_encoded(cache_key)))
        rest = [line for line in rest if line[0] == "credential" or line[0].startswith("secret-")]
    return start + rest


def canonical(text):
    """The canonical text of a request by its written form."""
    return "".join(f"{tag} {content}\n" for tag, content in facts(read(text)))


def key(canonical_text):
    return hashlib.sha256(canonical_text.encode()).hexdigest()

"""Writes canonical-v1.json: test vectors for the canonical form, version 1, by the implementation in canonical.py.

    python3 make_vectors.py > canonical-v1.json
"""

import json
import sys

sys.dont_write_bytecode = True

from canonical import SECRET, Refused, canonical, key, quoted  # noqa: E402

cases, pairs, refused = {}, [], []


class Raw(str):
    """JSON text that is to stand as it is, such as a number in a notation of its own."""


def text(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(name)}: {text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text, value)) + "]"
    return json.dumps(value)


def request(given):
    return text({"url": given} if isinstance(given, str) else {"url": "http://h/", **given})


def case(rule, given):
    cases.setdefault(request(given), rule)


def pair(rule, is_same, one, other):
    for given in (one, other):
        case(rule, given)
    pairs.append({"rule": rule, "same": is_same, "one": request(one), "other": request(other)})


def same(rule, one, *others):
    for other in others:
        pair(rule, True, one, other)


def differ(rule, *given):
    """Each from each."""
    for index, one in enumerate(given):
        for other in given[index + 1 :]:
            pair(rule, False, one, other)


def refuse(rule, given):
    refused.append({"rule": rule, "request": request(given)})


def json_body(body, **more):
    return {"method": "QUERY", "body": {"json": body}, **more}


def raw_body(json_text, **more):
    return json_body(Raw(json_text), **more)


def form_body(body, **more):
    return {"method": "QUERY", "body": {"form": body}, **more}


def text_body(body, content_type=None, **more):
    content = {"text": body} | ({} if content_type is None else {"contentType": content_type})
    return {"method": "QUERY", "body": content, **more}


def headers(*fields, **more):
    return {"headers": [list(field) for field in fields], **more}


def parameters(*elements, **more):
    return {"parameters": [list(element) for element in elements], **more}


def page_example():
    case(
        "The example of the page, with a credential of its own.",
        {
            "url": "https://API.example.com/a/../cities?country=DE",
            "parameters": [["page", 2]],
            "headers": [["Accept", "application/json"], ["Authorization", "Bearer s3cret"]],
        },
    )
    case("Only the URL is needed.", "http://h")
    case("policy, maxAge and timeout do not count.", {"policy": "noStore", "maxAge": 60, "timeout": None, "version": 1})
    same("policy, maxAge and timeout do not count.", "http://h/", {"policy": "reload"}, {"maxAge": 5}, {"timeout": 1})


def methods():
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND", "get"):
        case("A method stands as sent.", {"method": method})
    same("HEAD counts as GET, whose answer it shares.", {"method": "GET"}, {"method": "HEAD"}, "http://h/")
    same("HEAD counts as GET, with parameters.", "http://h/?a=1", parameters(("a", 1), method="HEAD"))
    differ("Methods are told apart.", {"method": "GET"}, {"method": "POST"}, {"method": "DELETE"}, {"method": "QUERY"})
    differ("The case of a method counts.", {"method": "GET"}, {"method": "get"})


def origins():
    same("Scheme and host are in lower case.", "http://h/", "HTTP://h/", "http://H/", "hTTp://H")
    same("The scheme's own port is left out.", "http://h/", "http://h:80/", "http://h:/")
    same("The scheme's own port is left out.", "https://h/", "https://h:443/", "https://h:/")
    differ("Another port is another origin.", "http://h/", "http://h:443/", "http://h:8080/", "https://h/", "https://h:80/")
    same("A port is a number.", "http://h:8080/", "http://h:08080/")
    same("An empty path is a slash.", "http://h", "http://h/")
    same("An empty path is a slash, before a query too.", "http://h?a=1", "http://h/?a=1")
    same("A fragment does not count.", "http://h/", "http://h/#", "http://h/#a", "http://h#a?b=1", "http://h/#/../%41")
    differ("A number sign that is escaped is none.", "http://h/", "http://h/%23a")
    differ("Other names are other servers.", "http://h.example/", "http://www.h.example/", "http://h.example./")
    differ("IPv4 addresses in other notations are other names.", "http://127.0.0.1/", "http://127.1/", "http://2130706433/")
    refuse("An escape in a host is refused.", "http://ex%61mple.com/")
    refuse("An escape in a host is refused.", "http://b%C3%BCcher.de/")
    same("A name is taken to its ASCII form, non-transitional.", "http://faß.de/", "http://xn--fa-hia.de/", "http://FAß.de")
    differ("Non-transitional processing keeps the sharp s.", "http://faß.de/", "http://fass.de/")
    same("A name is taken to its ASCII form.", "http://bücher.de/", "http://xn--bcher-kva.de/", "http://BÜCHER.de/")
    same("A name is composed.", "http://bücher.de/", "http://bu\u0308cher.de/")
    same("Any script has an ASCII form.", "http://例え.jp/", "http://xn--r8jz45g.jp/", "http://例え。jp/")
    case("Any script has an ASCII form.", "https://пример.example/a")
    case("The final sigma stays one.", "https://βόλος.gr/")
    same("Full width is mapped.", "http://example.com/", "http://ｅｘａｍｐｌｅ.com/")
    same(
        "An IPv6 address has the form of RFC 5952.",
        "http://[2001:db8::1]/",
        "http://[2001:0DB8:0:0::1]/",
        "http://[2001:db8:0:0:0:0:0:1]/",
        "http://[2001:DB8::0001]:80/",
    )
    for address in ("::", "::1", "1::", "2001:db8:0:1:1:1:1:1", "2001:0:0:1:0:0:0:1", "2001:db8:0:0:1:0:0:1", "fe80::A"):
        case("An IPv6 address has the form of RFC 5952: the longest run, the first of equals, never one.", f"http://[{address}]/")
    same("One that maps an IPv4 address ends in it.", "http://[::ffff:192.0.2.1]/", "http://[::FFFF:c000:201]/")
    differ("Addresses are told apart.", "http://[::1]/", "http://[::2]/", "http://[::ffff:1.2.3.4]/", "http://1.2.3.4/")
    refuse("A zone is refused.", "http://[fe80::1%25eth0]/")
    refuse("A zone is refused.", "http://[fe80::1%eth0]/")
    refuse("Only http and https have a form.", "ftp://h/")
    refuse("A URL is absolute.", "/a/b")
    refuse("A URL has a host.", "http:///a")


def user_information():
    basic = headers(("Authorization", "Basic bWU6cEA="))
    same("User information becomes an Authorization header.", basic, {"url": "http://me:p%40@h/"})
    same("User information has a colon where none is written.", "http://me@h/", "http://me:@h/")
    accented = headers(("Authorization", "Basic bWU6zIFw"))
    same("A colon divides user information whatever mark stands on it.", accented, "http://me:\u0301p@h/", "http://me:%CC%81p@h/")
    differ("User information may be any bytes.", "http://%FF:p@h/", "http://%FE:p@h/", "http://:p@h/", "http://:@h/")
    case("User information that is no UTF-8 has a colon, too.", "http://%FF@h/")
    differ("User information is a credential.", "http://h/", "http://a:b@h/", "http://a:c@h/", "http://b:b@h/")
    same(
        "An Authorization header goes before user information.",
        headers(("Authorization", "Bearer x"), url="http://me:p@h/"),
        headers(("Authorization", "Bearer x")),
    )
    same(
        "With an identity user information is left out.",
        {"url": "http://me:p@h/", "identity": "u"},
        {"identity": "u"},
        {"url": "http://me:q@h/", "identity": "u"},
    )


def paths():
    same("Dot segments are removed.", "http://h/b", "http://h/a/../b", "http://h/./b", "http://h/../b", "http://h/../../b")
    same("Dot segments are removed.", "http://h/a/g", "http://h/a/b/c/./../../g")
    same("A dot segment at the end leaves a slash.", "http://h/a/", "http://h/a/.", "http://h/a/b/..")
    same("Escaped dots make dot segments.", "http://h/b", "http://h/a/%2E%2e/b", "http://h/%2e/b", "http://h/a/.%2E/b")
    differ("Three dots are a name.", "http://h/a/.../b", "http://h/b", "http://h/a/b")
    case("Empty segments stay.", "http://h//a///b//")
    differ("Empty segments stay.", "http://h/a/b", "http://h/a//b", "http://h//a/b")
    same("A dot segment removes an empty one.", "http://h/a/b", "http://h/a//../b")
    same("Escapes of unreserved characters are decoded.", "http://h/a-z_.~0", "http://h/%61%2D%7a%5f%2E%7E%30")
    same("All other escapes are in upper case.", "http://h/%C3%A4%2F", "http://h/%c3%a4%2f")
    same("What is not ASCII is escaped.", "http://h/%C3%A4", "http://h/ä")
    for character in ' "<>\\^`{|}\n\t\u007f':
        refuse("A character that no URL holds bare is refused.", f"http://h/a{character}b")
        refuse("A character that no URL holds bare is refused, in a query too.", f"http://h/?a={character}b")
    case("Delimiters in a path stay bare.", "http://h/!$&'()*+,;=:@")
    case("Brackets in a path stay as they are written.", "http://h/[a]%5Bb%5D")
    case("An escape that is no UTF-8 stays.", "http://h/%ff%FE")
    differ("An escaped delimiter is no delimiter.", "http://h/a%2Fb", "http://h/a/b")
    differ("Escaped and bare delimiters are told apart.", "http://h/a%2Cb", "http://h/a,b")
    differ("Escaped and bare delimiters are told apart.", "http://h/a%3Ab", "http://h/a:b")
    differ("An escaped percent sign stays.", "http://h/%2541", "http://h/A")
    differ("The case of a path counts.", "http://h/a", "http://h/A")
    differ("A slash at the end counts.", "http://h/a", "http://h/a/")
    differ("A semicolon is a part of the path.", "http://h/a", "http://h/a;v=1", "http://h/a;v=2")
    differ("A question mark that is escaped is a part of the path.", "http://h/a%3Fb=1", "http://h/a?b=1")
    differ("A line feed that is escaped stays escaped.", "http://h/a%0Aquery%20b=1", "http://h/a?b=1", "http://h/a")
    refuse("A percent sign begins an escape.", "http://h/%zz")
    refuse("A percent sign begins an escape.", "http://h/?a=%")


def queries():
    same("Items are sorted by name.", "http://h/?a=1&b=2", "http://h/?b=2&a=1")
    same("Items of other names may stand between equal ones.", "http://h/?a=1&b=3&a=2", "http://h/?a=1&a=2&b=3", "http://h/?b=3&a=1&a=2")
    differ("Equal names keep their order.", "http://h/?a=1&a=2", "http://h/?a=2&a=1")
    differ("A name twice is not once.", "http://h/?a=1", "http://h/?a=1&a=1")
    same("Parameters are items like the URL's.", "http://h/?a=1&b=2", parameters(("b", 2), ("a", 1)), parameters(("a", 1), url="http://h/?b=2"))
    same("The URL's items come first.", "http://h/?page=1&page=2", parameters(("page", 2), url="http://h/?page=1"))
    differ("Nothing takes the place of anything.", parameters(("page", 2), url="http://h/?page=1"), "http://h/?page=2", parameters(("page", 1), url="http://h/?page=2"))
    differ("Absent, empty and null are three things.", "http://h/", "http://h/?a", "http://h/?a=")
    same("Null is a name without a value.", "http://h/?a", parameters(("a", None)))
    same("An empty text is an empty value.", "http://h/?a=", parameters(("a", "")))
    differ("A lone question mark has an item, an empty name.", "http://h/", "http://h/?", "http://h/?=", "http://h/?&")
    case("Empty items stay.", "http://h/?&a=1&&b=2&")
    differ("Empty items stay.", "http://h/?a=1&", "http://h/?a=1", "http://h/?a=1&&")
    same("Empty items are sorted before all.", "http://h/?&a=1", "http://h/?a=1&")
    differ("Plus, space and an escaped plus are three things.", "http://h/?a=+", "http://h/?a=%20", "http://h/?a=%2B")
    same("A parameter's plus is escaped.", "http://h/?a=%2B", parameters(("a", "+")))
    same("A parameter's space is escaped.", "http://h/?a=%20", parameters(("a", " ")))
    differ("An escaped comma divides nothing.", "http://h/?a=1,2", "http://h/?a=1%2C2")
    differ("An escaped slash is not a bare one.", "http://h/?a=b%2Fc", "http://h/?a=b/c")
    same("Escapes of unreserved characters are decoded.", "http://h/?%61=%7Eb", "http://h/?a=~b")
    same("All other escapes are in upper case.", "http://h/?a=%c3%a4", "http://h/?a=%C3%A4", "http://h/?a=ä", parameters(("a", "ä")))
    same("Brackets are always escaped.", "http://h/?a[b]=1", "http://h/?a%5Bb%5D=1", "http://h/?a%5bb%5d=1")
    same("Brackets are always escaped, in values too.", "http://h/?a=[1]", "http://h/?a=%5B1%5D")
    differ("The first equals sign divides.", "http://h/?a=b=c", "http://h/?a%3Db=c", "http://h/?a=b%3Dc")
    differ("An escaped ampersand divides nothing.", "http://h/?a=1&b=2", "http://h/?a=1%26b=2", "http://h/?a=1%26b%3D2")
    same("A parameter's delimiters are escaped.", "http://h/?a=1%26b%3D2", parameters(("a", "1&b=2")))
    same("A parameter's name is escaped.", "http://h/?a%26b%3D=1", parameters(("a&b=", 1)))
    differ("A question mark in a query is a part of it.", "http://h/?a=?", "http://h/?a=%3F", "http://h/?a")
    differ("The case of names counts.", "http://h/?a=1", "http://h/?A=1")
    differ("The case of values counts.", "http://h/?a=b", "http://h/?a=B")
    differ("Values are not composed.", "http://h/?a=ü", "http://h/?a=u\u0308")
    differ("A dot is no slash: dots in a query stay.", "http://h/?a=/../b", "http://h/?a=/b")
    same("Names are sorted as they are escaped.", "http://h/?ä=1&z=2&~=3&A=4", "http://h/?~=3&z=2&A=4&ä=1")
    case("Names are sorted byte by byte.", "http://h/?b=1&a-b=2&a=3&ab=4&B=5&%21=6&1=7&10=8&2=9")
    differ("A value of two lines has one.", "http://h/?a=1%0Aquery%20b=2", "http://h/?a=1&b=2")
    same("A parameter's line feed is escaped.", "http://h/?a=1%0Aquery%20b%3D2", parameters(("a", "1\nquery b=2")))
    case("A name with a line feed is escaped.", parameters(("a\nheader x", "1\r\n2")))
    case("A null character is escaped.", parameters(("a", "\u0000")))
    same("Parameters may be an object.", parameters(("a", 1), ("b", 2)), {"parameters": {"b": 2, "a": 1}})
    same("Parameters stand behind the empty item of a lone question mark.", "http://h/?&a=1", parameters(("a", 1), url="http://h/?"))
    case("Delimiters in a query stay bare.", "http://h/?!$'()*,;:@/?=!$'()*,;:@/?")
    same("No parameters are none.", "http://h/", {"parameters": []}, {"parameters": {}})


def parameter_values():
    same("An integer, a number and a text are one.", "http://h/?a=2", parameters(("a", 2)), parameters(("a", "2")), parameters(("a", Raw("2.0"))), parameters(("a", Raw("0.2e1"))))
    same("A boolean is a word.", "http://h/?a=true&b=false", parameters(("a", True), ("b", False)))
    for number in ("1.0", "-0.0", "0.1", "1e21", "1e20", "1E-7", "0.000001", "-1.5e-9", "4.50", "1.7976931348623157e308", "5e-324", "123456789.125"):
        case("A number is written as ECMAScript does.", parameters(("a", Raw(number))))
    case("A 64-bit integer keeps its digits.", parameters(("a", 9223372036854775807), ("b", -9223372036854775808)))
    differ("A 64-bit integer keeps its digits.", parameters(("a", 9007199254740993)), parameters(("a", 9007199254740992)))
    same("A 64-bit integer is its text.", parameters(("a", 9007199254740993)), "http://h/?a=9007199254740993")
    differ("A text in other characters is another.", "http://h/?a=1", "http://h/?a=1.0", "http://h/?a=01", "http://h/?a=%2B1")
    same("Arrays repeat their name.", "http://h/?a=1&a=2", parameters(("a", [1, 2])), parameters(("a", [1, 2]), arrays="repeated"))
    same("Arrays by brackets.", "http://h/?a[]=1&a[]=2", parameters(("a", [1, 2]), arrays="brackets"))
    same("Arrays by comma.", "http://h/?a=1,2", parameters(("a", [1, 2]), arrays="comma"))
    same("Arrays by JSON.", "http://h/?a=%5B1,2%5D".replace(",", "%2C"), parameters(("a", [1, 2]), arrays="json"))
    differ("Arrays keep their order.", parameters(("a", [1, 2])), parameters(("a", [2, 1])))
    differ("Arrays by comma keep their order.", parameters(("a", [1, 2]), arrays="comma"), parameters(("a", [2, 1]), arrays="comma"))
    differ("A comma in a value divides nothing.", parameters(("a", ["1,2"]), arrays="comma"), parameters(("a", [1, 2]), arrays="comma"))
    differ("Each way to write arrays is another query.", *[parameters(("a", [1, 2]), arrays=way) for way in ("repeated", "brackets", "comma", "json")])
    same("Objects by brackets.", "http://h/?a[b]=1&a[c]=2", parameters(("a", {"b": 1, "c": 2})), parameters(("a", {"c": 2, "b": 1})))
    same("Objects by JSON.", "http://h/?a=%7B%22b%22%3A1%7D", parameters(("a", {"b": 1}), objects="json"))
    same("Objects by JSON are canonical.", parameters(("a", {"b": Raw("1.0"), "c": [True]}), objects="json"), parameters(("a", {"c": [True], "b": 1}), objects="json"))
    differ("Each way to write objects is another query.", parameters(("a", {"b": 1})), parameters(("a", {"b": 1}), objects="json"))
    same("Objects in objects by brackets.", "http://h/?a[b][c]=1", parameters(("a", {"b": {"c": 1}})))
    same("Arrays in objects.", "http://h/?a[b]=1&a[b]=2", parameters(("a", {"b": [1, 2]})))
    same("Arrays in objects by brackets.", "http://h/?a[b][]=1&a[b][]=2", parameters(("a", {"b": [1, 2]}), arrays="brackets"))
    same("Arrays in objects by comma.", "http://h/?a[b]=1,2", parameters(("a", {"b": [1, 2]}), arrays="comma"))
    same("An empty array by repeated or brackets is absent.", "http://h/", parameters(("a", [])), parameters(("a", []), arrays="brackets"), parameters(("a", {})))
    same("An empty array by comma is an empty value.", "http://h/?a=", parameters(("a", []), arrays="comma"))
    same("An empty array by JSON.", "http://h/?a=%5B%5D", parameters(("a", []), arrays="json"))
    same("An empty object by JSON.", "http://h/?a=%7B%7D", parameters(("a", {}), objects="json"))
    same("Each null in an array is its name.", "http://h/?a&a=1&a", parameters(("a", [None, 1, None])))
    same("Each null in an array by brackets is its name.", "http://h/?a[]&a[]=1", parameters(("a", [None, 1]), arrays="brackets"))
    same("A null in an object is its name.", "http://h/?a[b]", parameters(("a", {"b": None})))
    refuse("Commas join no null.", parameters(("a", [1, None]), arrays="comma"))
    refuse("Commas join no lists.", parameters(("a", [[1]]), arrays="comma"))
    case("64-bit integers in JSON keep their digits.", parameters(("a", [9007199254740993]), arrays="json"))
    same("A null in JSON is written.", "http://h/?a=%5Bnull%5D", parameters(("a", [None]), arrays="json"))
    differ("An object and a name with brackets meet, their values do not.", parameters(("a", {"b": 1})), parameters(("a[b]", 2)))


def destinations():
    for method in ("GET", "HEAD", "DELETE", "QUERY", "POST", "PUT", "PATCH", "OPTIONS", "PROPFIND"):
        case(f"Where the parameters of {method} go.", parameters(("b", "x y"), ("a", 1), method=method))
        case(f"Where the parameters of {method} go when it has a body.", parameters(("a", 1), method=method, body={"text": "t"}))
    for method in ("GET", "POST", "QUERY"):
        for place in ("query", "form", "json"):
            case(f"The parameters of {method} go where destination says: {place}.", parameters(("a", 1), ("b", "x"), ("a", 2), method=method, destination=place))
    same("automatic is the query for GET.", parameters(("a", 1)), parameters(("a", 1), destination="query"), parameters(("a", 1), destination="automatic"))
    same("automatic is a form for POST.", parameters(("a", 1), method="POST"), parameters(("a", 1), method="POST", destination="form"), {"method": "POST", "body": {"form": {"a": 1}}})
    same("Parameters as JSON are a body of JSON.", parameters(("b", 2), ("a", 1), method="POST", destination="json"), {"method": "POST", "body": {"json": {"a": 1, "b": 2}}})
    same("A repeated name becomes an array.", parameters(("a", 1), ("a", 2), method="POST", destination="json"), {"method": "POST", "body": {"json": {"a": [1, 2]}}})
    differ("Query, form and JSON are three places.", *[parameters(("a", 1), method="POST", destination=place) for place in ("query", "form", "json")])
    differ("In JSON a number is no text.", parameters(("a", 1), method="POST", destination="json"), parameters(("a", "1"), method="POST", destination="json"))
    refuse("Two bodies are refused.", parameters(("a", 1), method="POST", destination="form", body={"text": "t"}))
    refuse("Two bodies are refused.", parameters(("a", 1), method="POST", destination="json", body={"text": "t"}))
    same("Wherever there is a body, parameters go to the query.", {"method": "POST", "url": "http://h/?a=1", "body": {"text": "t"}}, parameters(("a", 1), method="POST", body={"text": "t"}))


SILENT = """User-Agent Date Content-Length Expect Max-Forwards If-Match If-None-Match If-Modified-Since If-Unmodified-Since
If-Range Range Cache-Control Pragma Priority Connection Keep-Alive Proxy-Authorization Proxy-Connection TE Trailer
Transfer-Encoding Upgrade traceparent tracestate baggage b3 X-B3-TraceId X-B3-Sampled X-Request-ID X-Correlation-ID
X-Amzn-Trace-Id X-Cloud-Trace-Context X-B3-Flags If-Schedule-Tag-Match Proxy-Features""".split()

SPEAKING = """Accept Accept-Encoding Accept-Language Host Origin Referer From Prefer X-Tenant X-HTTP-Method-Override DNT
Content-Language Sec-Fetch-Mode X-User-Agent Ranges Dated X-B4 If Proxy X-If-Match""".split()


def header_lines():
    for name in SILENT:
        same(f"{name} does not select.", "http://h/", headers((name, "1")), headers((name.upper(), "2")))
    for name in SPEAKING:
        differ(f"{name} selects.", "http://h/", headers((name, "1")), headers((name, "2")))
    same("Names are in lower case.", headers(("X-A", "1")), headers(("x-a", "1")), headers(("X-a", "1")))
    differ("The case of a header's value counts.", headers(("X-A", "a,b")), headers(("X-A", "A,B")))
    same("Headers are sorted by name.", headers(("X-A", "1"), ("X-B", "2")), headers(("X-B", "2"), ("X-A", "1")))
    differ("Headers of equal names keep their order.", headers(("X-A", "1"), ("X-A", "2")), headers(("X-A", "2"), ("x-a", "1")))
    same("Names that differ in case are equal.", headers(("X-A", "1"), ("x-a", "2")), headers(("x-A", "1"), ("X-A", "2")))
    differ("A header twice is not a list.", headers(("X-A", "1"), ("X-A", "2")), headers(("X-A", "1, 2")), headers(("X-A", "1,2")))
    same("Cookie fields are one.", headers(("Cookie", "a=1; b=2; c")), headers(("Cookie", "a=1"), ("X", "1"), ("cookie", "b=2; c"), nonSelecting=["x"]), headers(("Cookie", "a=1"), ("Cookie", "b=2"), ("Cookie", "c")))
    differ("Cookies keep their order.", headers(("Cookie", "a=1"), ("Cookie", "b=2")), headers(("Cookie", "b=2"), ("Cookie", "a=1")), headers(("Cookie", "a=1, b=2")))
    differ("An absent header is not an empty one.", "http://h/", headers(("X-A", "")))
    case("An empty header has a space behind its name.", headers(("X-A", "")))
    case("Spaces in a value stay.", headers(("X-A", "a  b c")))
    for value in (" 1", "1\t", "1\nX-B: 2", "1\r", "1\u0000"):
        refuse("A value has no line break, no NUL, and no white space at its ends.", headers(("X-A", value)))
    refuse("A name is a token.", headers(("X A", "1")))
    case("A value may hold more than ASCII.", headers(("X-A", "ä€")))
    case("A value may hold whatever is not a line.", headers(("X-A", 'header x-b 1; "q"=%0A&=')))
    differ("A value that looks like a line is none.", headers(("X-A", "1 header x-b 2")), headers(("X-A", "1"), ("X-B", "2")))
    case("Open and secret headers stand in one order.", headers(("X-Z", "1"), ("Authorization", "a"), ("Accept", "b"), ("Cookie", "c=d"), ("B", "2")))
    same("Headers may be an object.", headers(("A", "1"), ("B", "2")), {"headers": {"B": "2", "A": "1"}})
    same("nonSelecting leaves out a header.", "http://h/", headers(("X-A", "1"), nonSelecting=["x-a"]), headers(("x-a", "2"), nonSelecting=["X-A"]))
    differ("nonSelecting leaves out no other.", headers(("X-A", "1"), nonSelecting=["X-B"]), headers(("X-A", "2"), nonSelecting=["X-B"]))
    same("nonSelecting leaves out a credential.", "http://h/", headers(("X-Api-Key", "1"), nonSelecting=["x-api-key"]))
    case("Content-Type without a body is a header.", headers(("Content-Type", "text/plain")))
    same("Content-Type with a body is its type.", text_body("a", "text/plain"), text_body("a", headers=[["Content-Type", "text/plain"]]), text_body("a", "text/html", headers=[["content-type", "text/plain"]]))
    case("Content-Type is the type of JSON too.", json_body({"a": 1}, headers=[["Content-Type", "application/graphql+json"]]))


HEADER_WORDS = "apikey api_key api-key cookie credential jwt passw secret session signature token auth key".split()
WORDS = HEADER_WORDS[:-2]
WHOLE = "auth authorization key pass pwd sig sid assertion client_assertion code_verifier device_code samlresponse sas".split()


def credentials():
    for word in HEADER_WORDS:
        case(f"A header that holds {word} is a credential.", headers((f"X-My{word.title()}Here", "s3cret")))
    for word in WORDS:
        for name in (word, f"my{word.upper()}s"):
            case(f"A parameter that holds {word} is a credential.", parameters((name, "s3cret")))
            case(f"A member that holds {word} is a credential.", json_body({name: "s3cret", "a": 1}))
            case(f"A field that holds {word} is a credential.", form_body({name: "s3cret", "a": 1}))
    for word in WHOLE:
        case(f"A parameter {word} is a credential.", parameters((word, "s3cret")))
        case(f"A parameter with a part {word} is a credential.", parameters(("a", {word.upper(): "s3cret"})))
        case(f"A member {word} is a credential.", json_body({word.upper(): "s3cret"}))
        case(f"A parameter that only holds {word} as a part of a word is none.", parameters((f"x{word}", "1")) if "auth" not in word else parameters(("author", "1")))
        case(f"A member that only holds {word} as a part of a word is none.", json_body({f"x{word}": 1} if "auth" not in word else {"author": 1}))
    differ("Headers that are credentials separate.", "http://h/", headers(("Authorization", "Bearer a")), headers(("Authorization", "Bearer b")), headers(("Cookie", "a=1")))
    differ("Parameters that are credentials separate.", "http://h/", "http://h/?token=a", "http://h/?token=b", "http://h/?token")
    differ("Members that are credentials separate.", json_body({"password": "a"}), json_body({"password": "b"}), json_body({}))
    same("A credential in the URL is one of the parameters.", "http://h/?token=a", parameters(("token", "a")))
    same("A credential is keyed in its normal form.", "http://h/?token=%c3%a4", "http://h/?token=ä", parameters(("token", "ä")))
    same("A secret member is keyed in the form of RFC 8785.", json_body({"token": 1, "a": 2}), raw_body('{"a": 2.0, "token": 10e-1}'))
    differ("Credentials of one name keep their order.", "http://h/?token=a&token=b", "http://h/?token=b&token=a")
    case("Secret items stand behind the others.", "http://h/?token=a&z=1&apikey=2&b=3")
    case("Secret fields stand behind the others.", form_body([["token", "a"], ["z", 1], ["apikey", 2], ["b", 3]]))
    case("A nested member is a credential at any depth.", json_body({"a": [{"b": {"accessToken": "s3cret"}}]}))
    case("A credential in a list.", json_body([{"pwd": 1}]))
    case("A word in a value is no credential.", json_body({"a": "password"}))
    case("A word in a query's value is no credential.", "http://h/?a=token")
    case("A word in a header's value is no credential.", headers(("X-A", "token")))
    case("An escaped name is a credential.", "http://h/?%74oken=a")
    case("A name without a value holds no credential.", "http://h/?token")
    case("The part before the brackets is one.", parameters(("auth[a]", "s3cret")))
    case("A part between brackets that is listed is a credential.", parameters(("a[pin][b]", "1234"), secrets=["pin"]))
    case("A listed name with brackets is a credential.", parameters(("a[b]", "1234"), secrets=["A[b]"]))
    case("A body with a credential and a 64-bit integer is keyed.", json_body({"id": 9007199254740993, "password": "s3cret"}))
    for name in ("pin", "PIN"):
        case("A listed parameter is a credential.", parameters(("Pin", "1234"), secrets=[name]))
        case("A listed header is a credential.", headers(("X-PIN", "1234"), secrets=["x-" + name]))
        case("A listed member is a credential.", json_body({"a": {"pIn": 1234}}, secrets=[name]))
        case("A listed field is a credential.", form_body({"pIn": 1234}, secrets=[name]))
    case("A signed URL's signature is a credential, and what it signs is not.", "https://a.example/b?sv=2024-11-04&se=2030-01-01&sp=r&sig=s3cret")
    case("A signed URL's credential, token and signature are credentials.", "https://a.example/b?X-Amz-Date=1&X-Amz-Credential=a&X-Amz-Security-Token=b&X-Amz-Signature=c")
    case("A code and a state are no credentials: they are countries more often.", "http://h/?code=DE&state=NY")
    case("JSON in a parameter with a secret member is a credential.", parameters(("filter", {"a": [{"password": "s3cret"}]}), objects="json"))
    case("JSON in a parameter without one is none.", parameters(("filter", {"a": ["password"]}), objects="json", arrays="json"))
    case("A list in a parameter with a secret member is a credential.", parameters(("filter", [{"pwd": 1}]), arrays="json"))
    case("JSON in a URL with a secret member is a credential.", "http://h/?a=%7B%22b%22:%7B%22accessToken%22:1%7D%7D&b=1")
    case("JSON behind blanks is JSON.", "http://h/?a=%20%0A%7B%22token%22:1%7D")
    for value in ("%7B%22token%22%20:1", "%7B%22token%22%20,1", "%5B%22token%22"):
        case("JSON that cannot be read has a name before a colon.", f"http://h/?a={value}")
    case("JSON in a field with a secret member is a credential.", form_body([["a", {"token": 1}], ["b", 1]], objects="json"))
    case("A member that is listed is a credential in a parameter too.", parameters(("filter", {"pin": 1}), objects="json", secrets=["PIN"]))
    differ("JSON in parameters separates by its secrets.", parameters(("a", {"token": 1}), objects="json"), parameters(("a", {"token": 2}), objects="json"))
    case("A list names whole names.", parameters(("pins", "1"), secrets=["pin"]))
    case("A list names whole names of members.", json_body({"pins": 1}, secrets=["pin"]))


def identities():
    differ("An identity separates.", "http://h/", {"identity": ""}, {"identity": "a"}, {"identity": "b"}, {"identity": "A"})
    case("An identity is percent-encoded.", {"identity": "user 42\nmethod GET/ä~"})
    bearer = ("Authorization", "Bearer a")
    same("With an identity a rotated token counts no more.", {"identity": "u"}, headers(bearer, identity="u"), headers(("authorization", "Bearer b"), identity="u"), headers(("Cookie", "a=1"), identity="u"))
    differ("Without an identity tokens separate.", headers(bearer), headers(("Authorization", "Bearer b")))
    differ("With an identity, what only looks like a credential stays.", {"identity": "u"}, {"identity": "u", "url": "http://h/?key=42"}, {"identity": "u", "url": "http://h/?key=43"})
    differ("With an identity, a header that looks like a credential stays.", {"identity": "u"}, headers(("X-Key", "1"), identity="u"), headers(("X-Key", "2"), identity="u"))
    differ("With an identity, a member that looks like a credential stays.", json_body({"key": 1}, identity="u"), json_body({"key": 2}, identity="u"))
    same("With an identity a listed parameter is left out.", {"identity": "u"}, parameters(("pin", 1), identity="u", secrets=["PIN"]), {"identity": "u", "url": "http://h/?pin=2", "secrets": ["pin"]})
    same("With an identity a listed part of a parameter is left out.", {"identity": "u"}, parameters(("a[pin]", 1), identity="u", secrets=["pin"]), parameters(("a[pin]", 1), identity="u", secrets=["a[pin]"]))
    same("With an identity members that are listed are left out of a list.", json_body([{}, 1], identity="u"), json_body([{"pin": {"a": 2}}, 1], identity="u", secrets=["pin"]))
    differ("Without an identity a listed member separates.", json_body({"a": {"pin": 1}}, secrets=["pin"]), json_body({"a": {"pin": 2}}, secrets=["pin"]))
    same("With an identity a listed header is left out.", {"identity": "u"}, headers(("X-Api-Key", "1"), identity="u", secrets=["x-api-key"]))
    same("With an identity a listed field is left out.", form_body({"a": 1}, identity="u"), form_body({"a": 1, "pin": 2}, identity="u", secrets=["pin"]))
    same("With an identity a listed member is left out.", json_body({"a": {}}, identity="u"), json_body({"a": {"pin": 2}}, identity="u", secrets=["pin"]))


def named_secrets():
    token = {"header": "Authorization", "prefix": "Bearer ", "secret": "github-token"}
    parameter = {"parameter": "api key", "secret": "a b/c"}
    case("A named secret in a header.", {"credentials": [token]})
    case("A named secret in a parameter is percent-encoded.", {"credentials": [parameter]})
    case("A named secret without a prefix.", {"credentials": [{"header": "X-Api-Key", "secret": "k"}]})
    same("Named secrets are sorted.", {"credentials": [token, parameter]}, {"credentials": [parameter, token]})
    differ("Named secrets separate.", "http://h/", {"credentials": [token]}, {"credentials": [token | {"secret": "other"}]}, {"credentials": [token | {"prefix": "token "}]}, {"credentials": [token | {"header": "X-Authorization"}]})
    same("A named secret's header is in lower case.", {"credentials": [token]}, {"credentials": [token | {"header": "AUTHORIZATION"}]})
    same("A named secret takes the place of its header.", {"credentials": [token]}, headers(("Authorization", "Bearer x"), credentials=[token]))
    case("A named secret with an identity.", {"credentials": [token], "identity": "u"})
    differ("A secret's name is no injection.", {"credentials": [{"parameter": "a", "secret": "b\ntype x"}]}, {"credentials": [{"parameter": "a b", "secret": "type x"}]})
    case("A named secret with a cacheKey.", {"credentials": [token], "cacheKey": "k"})


def cache_keys():
    same("cacheKey takes the place of method, URL, headers and body.", {"cacheKey": "k"}, {"cacheKey": "k", "url": "https://other/a?b=1"}, {"cacheKey": "k", "method": "POST", "body": {"text": "t"}}, headers(("X-A", "1"), cacheKey="k"))
    differ("Cache keys are told apart.", "http://h/", {"cacheKey": ""}, {"cacheKey": "k"}, {"cacheKey": "K"}, {"cacheKey": "k "})
    case("A cache key is percent-encoded.", {"cacheKey": "a b\nquery c/ä"})
    differ("With a cacheKey credentials separate.", {"cacheKey": "k"}, headers(("Authorization", "a"), cacheKey="k"), headers(("Authorization", "b"), cacheKey="k"))
    case("With a cacheKey secret parameters separate.", {"cacheKey": "k", "url": "http://h/?token=1&a=2"})
    case("With a cacheKey secret members separate.", json_body({"token": 1}, cacheKey="k"))
    case("With a cacheKey secret fields separate.", form_body({"token": 1, "a": 2}, cacheKey="k"))
    differ("With a cacheKey identities separate.", {"cacheKey": "k"}, {"cacheKey": "k", "identity": "a"}, {"cacheKey": "k", "identity": "b"})
    differ("A cache key is no identity.", {"cacheKey": "k"}, {"identity": "k"})


def ignoring():
    same("ignoring leaves out an item of the query.", "http://h/?a=1", {"url": "http://h/?a=1&_=5", "ignoring": ["_"]}, parameters(("_", 6), url="http://h/?a=1", ignoring=["_"]))
    same("An ignored item that is absent is left out as well.", "http://h/", {"url": "http://h/", "ignoring": ["_"]}, {"url": "http://h/?_=1", "ignoring": ["_"]}, {"url": "http://h/?_", "ignoring": ["_"]})
    same("A star stands for any characters.", "http://h/", {"url": "http://h/?utm_a=1&utm_=2&utm_x_y=3", "ignoring": ["utm_*"]}, {"url": "http://h/?utm_a=1", "ignoring": ["*_a"]}, {"url": "http://h/?a=1&b=2", "ignoring": ["*"]}, {"url": "http://h/?abc", "ignoring": ["a*c"]})
    differ("A pattern is the whole name.", "http://h/", {"url": "http://h/?xutm_a=1", "ignoring": ["utm_*"]}, {"url": "http://h/?ab=1", "ignoring": ["a"]}, {"url": "http://h/?ba=1", "ignoring": ["a"]})
    differ("The case of an ignored name counts.", "http://h/", {"url": "http://h/?UTM_a=1", "ignoring": ["utm_*"]})
    same("Names are compared before encoding.", "http://h/", {"url": "http://h/?a%20b=1", "ignoring": ["a b"]}, parameters(("ä", 1), ignoring=["ä"]))
    differ("A pattern is the whole name with its brackets.", {"url": "http://h/?a[b]=1", "ignoring": ["a"]}, "http://h/")
    same("A pattern may hold brackets.", "http://h/", {"url": "http://h/?a[b]=1", "ignoring": ["a[b]"]}, parameters(("a", {"b": 1, "c": 2}), ignoring=["a[*"]))
    differ("A pattern has no other wildcards.", "http://h/", {"url": "http://h/?ab=1", "ignoring": ["a?"]}, {"url": "http://h/?b=1", "ignoring": ["[ab]"]}, {"url": "http://h/?ac=1", "ignoring": ["a."]})
    same("ignoring leaves out a field.", form_body({"a": 1}), form_body({"a": 1, "ts": 2}, ignoring=["ts"]))
    same("ignoring leaves out a member at the top.", json_body({"a": 1}), json_body({"a": 1, "ts": 2}, ignoring=["ts"]), json_body({"a": 1, "tsx": {"b": [2]}}, ignoring=["ts*"]))
    differ("ignoring leaves out no member below the top.", json_body({"a": {}}), json_body({"a": {"ts": 1}}, ignoring=["ts"]), json_body({"a": {"ts": 2}}, ignoring=["ts"]))
    differ("ignoring leaves out nothing in a list.", json_body([{"ts": 1}], ignoring=["ts"]), json_body([{"ts": 2}], ignoring=["ts"]))
    same("ignoring leaves out a credential.", "http://h/", {"url": "http://h/?token=1", "ignoring": ["token"]})
    same("An ignored credential hides no body.", json_body({"a": 1}), json_body({"a": 1, "token": 2}, ignoring=["token"]))
    same("ignoring reaches parameters in a form.", {"method": "POST", "body": {"form": {"a": 1}}}, parameters(("a", 1), ("ts", 2), method="POST", ignoring=["ts"]))
    same("ignoring reaches parameters as JSON.", {"method": "POST", "body": {"json": {"a": 1}}}, parameters(("a", 1), ("ts", 2), method="POST", destination="json", ignoring=["ts"]))
    differ("ignoring leaves out no header.", headers(("ts", "1"), ignoring=["ts"]), headers(("ts", "2"), ignoring=["ts"]))
    differ("ignoring leaves out nothing of bytes.", text_body("ts=1", ignoring=["ts"]), text_body("ts=2", ignoring=["ts"]))


def json_bodies():
    same("Members have no order.", json_body({"a": 1, "b": 2}), json_body({"b": 2, "a": 1}))
    same("Members have no order at any depth.", json_body({"x": [{"a": 1, "b": {"c": 2, "d": 3}}]}), json_body({"x": [{"b": {"d": 3, "c": 2}, "a": 1}]}))
    differ("Arrays keep their order.", json_body([1, 2]), json_body([2, 1]))
    same("A number has one form.", raw_body("1"), raw_body("1.0"), raw_body("1e0"), raw_body("10E-1"), raw_body("100e-2"))
    same("Minus zero is zero.", raw_body("0"), raw_body("-0"), raw_body("-0.0"))
    differ("A number is no text.", json_body(1), json_body("1"))
    differ("null, false, 0, a text, a list and an object are six things.", json_body(None), json_body(False), json_body(0), json_body(""), json_body([]), json_body({}))
    differ("A null member is not an absent one.", json_body({"a": None}), json_body({}))
    for number in ("333333333.33333329", "1E30", "4.50", "2e-3", "0.000000000000000000000000001", "1e21", "1e-7", "0.000001", "123456789012345680000", "-1.5", "5e-324", "9007199254740991", "-9007199254740991", "9007199254740994"):
        if number != "333333333.33333329":
            case("Numbers are laid out as ECMAScript does.", raw_body(f"[{number}]"))
    case("A 64-bit integer that no double holds makes the body bytes.", json_body({"id": 9007199254740993}))
    case("A 64-bit integer that no double holds makes the body bytes, its members sorted.", json_body({"id": 9223372036854775807, "a": [1]}))
    differ("64-bit integers are told apart.", json_body({"id": 9007199254740993}), json_body({"id": 9007199254740992}), json_body({"id": 9007199254740994}))
    case("Members are sorted by UTF-16.", json_body({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f602": 5, "\u0080": 6, "ö": 7, "": 8, "10": 9, "2": 0}))
    case("Text has the escapes of RFC 8785.", json_body("\u0000\u0008\t\n\u000b\f\r\u001f\"\\/\u007f\u0080\u2028\u20ac\U0001f602</script>"))
    same("Escapes in text are one with their characters.", raw_body(r'"\u0061\/\u20AC\ud83d\ude02"'), raw_body('"a/€😂"'))
    differ("Text is not composed.", json_body("ü"), json_body("u\u0308"))
    differ("Text in members' names is not composed.", json_body({"ü": 1}), json_body({"u\u0308": 1}))
    differ("A line feed in text is escaped.", json_body("1\nheader x 1"), json_body("1"))
    differ("The case of members' names counts.", json_body({"a": 1}), json_body({"A": 1}))
    differ("JSON null is a body, nothing is none.", json_body(None), {"method": "QUERY"})
    same("White space does not count.", raw_body('{"a":[1,2]}'), raw_body('{ "a" : [ 1 , 2 ] }'))
    refuse("A name twice in one object is refused.", raw_body('{"a": 1, "a": 2}'))
    refuse("Names that Unicode holds for equal are one name, and refused twice in one object.", json_body({"ü": 1, "u\u0308": 2}))
    case("A 64-bit integer up to 2^53 is a number.", raw_body("[9007199254740992,-9007199254740992]"))
    case("ignoring comes before the numbers are looked at.", json_body({"a": 1, "id": 9007199254740993}, ignoring=["id"]))
    case("A member __proto__ is a member.", json_body({"__proto__": {"a": 1}}))
    differ("Bodies of QUERY and POST are told apart.", json_body({"a": 1}), json_body({"a": 1}, method="POST"))
    same("A body of QUERY beside a query.", json_body({"a": 1}, url="http://h/?b=2"), json_body({"a": 1}, parameters=[["b", 2]]))


def query_bodies():
    """QUERY (RFC 10008 section 2.7): the key incorporates the content and its metadata."""
    differ("QUERY: the content counts.", json_body({"q": "a"}), json_body({"q": "b"}), {"method": "QUERY"}, text_body("", "application/json"))
    differ("QUERY: the type of the content counts.", text_body("select 1", "application/sql"), text_body("select 1", "text/plain"), text_body("select 1"))
    differ("QUERY: the URL counts beside the content.", json_body({"q": "a"}), json_body({"q": "a"}, url="http://h/a"), json_body({"q": "a"}, url="http://h/?a"))
    same("QUERY: JSON is normalized.", raw_body('{"q":{"b":1,"a":2.50}}'), raw_body('{"q": {"a": 2.5, "b": 1.0}}'))
    differ("QUERY: Accept counts.", json_body({"q": "a"}, headers=[["Accept", "text/csv"]]), json_body({"q": "a"}, headers=[["Accept", "application/json"]]))
    differ("QUERY: Content-Encoding counts.", text_body("a", "text/plain", headers=[["Content-Encoding", "gzip"]]), text_body("a", "text/plain"))
    same("QUERY: a form is normalized.", form_body([["b", "2"], ["a", "1"]]), form_body({"a": 1, "b": 2}))
    differ("QUERY: a form is no query.", form_body({"a": 1}), {"method": "QUERY", "url": "http://h/?a=1"})
    case("QUERY: a search with everything.", json_body({"where": {"country": "DE"}, "limit": 10}, url="https://api.example.com/cities?lang=de", headers=[["Accept", "application/json"], ["Authorization", "Bearer t"]], identity="user-42"))
    case("QUERY: GraphQL.", json_body({"query": "{ city(id: 1) { name } }", "variables": {"id": "1"}}, url="https://api.example.com/graphql"))
    case("QUERY: a credential in the content.", json_body({"query": "a", "auth": {"user": "u"}}))


def forms():
    same("A form's items are sorted by name.", form_body([["a", 1], ["b", 2]]), form_body([["b", 2], ["a", 1]]))
    differ("Equal names of a form keep their order.", form_body([["a", 1], ["a", 2]]), form_body([["a", 2], ["a", 1]]))
    differ("A form's null, empty and absent are three things.", form_body([["a", None]]), form_body([["a", ""]]), form_body([]))
    same("A form's arrays repeat.", form_body({"a": [1, 2]}), form_body([["a", 1], ["a", 2]]))
    case("A form's arrays by brackets.", form_body({"a": [1, 2]}, arrays="brackets"))
    case("A form's arrays by comma.", form_body({"a": ["1,", 2]}, arrays="comma"))
    case("A form's arrays by JSON.", form_body({"a": [1, 2]}, arrays="json"))
    case("A form's objects.", form_body({"a": {"b": 1}}))
    case("A form's objects by JSON.", form_body({"a": {"b": 1}}, objects="json"))
    case("A form's delimiters are escaped.", form_body({"a&b=\n": "c d+e%&="}))
    differ("A form's value is no further item.", form_body({"a": "1&b=2"}), form_body([["a", "1"], ["b", "2"]]))
    differ("A form is not its text.", form_body({"a": 1}), text_body("a=1", "text/plain"))
    case("An empty form is a body.", form_body([]))
    same("Parameters that send nothing are an empty form.", form_body([], method="POST"), parameters(("a", []), method="POST"))


def bytes_bodies():
    differ("No body, an empty one and a space are three things.", {"method": "QUERY"}, text_body(""), text_body(" "))
    same("Text and base64 of the same bytes are one.", text_body("ä\n"), {"method": "QUERY", "body": {"base64": "w6QK"}})
    case("Bytes that are no text.", {"method": "QUERY", "body": {"base64": "AP+A", "contentType": "application/octet-stream"}})
    case("Text is bytes, whatever its type.", text_body('{"a": 1}', "application/json"))
    same(
        "JSON that is sent as text is its value.",
        {"method": "QUERY", "body": {"jsonText": ' {"b": 1.0,\n"a": [1e2]}'}},
        {"method": "QUERY", "body": {"json": {"a": [100], "b": 1}}},
    )
    case("Text is bytes, whatever its type.", text_body("a=1", "application/x-www-form-urlencoded"))
    case("Line feeds in a body cannot make lines.", text_body("a\nheader x-a 1\n\nquery b=2\n"))
    differ("Line feeds count.", text_body("a\n"), text_body("a"), text_body("a\r\n"))
    differ("The type counts.", text_body("1"), text_body("1", "text/plain"), text_body("1", "text/html"), text_body("1", "text/plain; charset=utf-8"))
    differ("Text is not composed.", text_body("ü"), text_body("u\u0308"))
    case("POST without a body and parameters has no type.", {"method": "POST"})
    differ("Multipart is bytes.", text_body("--a\r\n\r\n1\r\n--a--", "multipart/form-data; boundary=a"), text_body("--b\r\n\r\n1\r\n--b--", "multipart/form-data; boundary=b"))


def multipart(*parts, **more):
    return {"method": "POST", "body": {"multipart": list(parts)}, **more}


def multipart_bodies():
    a, b = {"name": "a", "text": "1"}, {"name": "b", "text": "2"}
    case("Each part of a multipart body is a line.", multipart(a, b))
    differ("Parts are in order, and all of them count.", multipart(a, b), multipart(b, a), multipart(a), multipart(a, a), multipart())
    same("A part's text and base64 are one.", multipart(a), multipart({"name": "a", "base64": "MQ=="}))
    differ("Every fact of a part counts; absent is not empty.", multipart(a), multipart({"filename": "", **a}), multipart({"filename": "f", **a}),
           multipart({"contentType": "", **a}), multipart({"contentType": "f", **a}), multipart({"name": "A", "text": "1"}))
    case("A part's facts are percent-encoded.", multipart({"name": "ä b=\n1", "filename": "x type=y", "contentType": "text/plain; a=\"b\"", "text": ""}))
    differ("A part's name is no further fact.", multipart({"name": "a filename=f", "text": "1"}), multipart({"filename": "f", **a}))
    differ("A multipart body is not the form of its texts.", multipart(a), {"method": "POST", "body": {"form": {"a": "1"}}})
    case("A secret part is a digest.", multipart(a, {"name": "password", "text": "s3cret"}, {"name": "user[pin]", "text": "1"}, secrets=["pin"]))
    same("An identity takes the place of a listed part.", multipart({"name": "pin", "text": "1"}, identity="u", secrets=["pin"]), multipart({"name": "pin", "text": "2"}, identity="u", secrets=["pin"]))
    same("An ignored part does not count.", multipart(a, {"name": "_", "text": "1"}, ignoring=["_"]), multipart(a, ignoring=["_"]))
    refuse("A multipart body makes its Content-Type itself.", multipart(a, headers={"Content-Type": "multipart/form-data; boundary=x"}))


def injections():
    differ("Injection by the path.", "http://h/a%0Aquery%20x=1", "http://h/a?x=1")
    differ("Injection by a name.", parameters(("a\nquery b", "1")), parameters(("a", None), ("b", "1")))
    differ("Injection by a value.", parameters(("a", "1\nquery b=2")), parameters(("a", "1"), ("b", "2")))
    differ("Injection by an equals sign in a name.", parameters(("a=b", "c")), parameters(("a", "b=c")))
    differ("Injection by an ampersand.", parameters(("a", "1&b=2")), parameters(("a", "1"), ("b", "2")))
    differ("Injection by a space in a header.", headers(("a", "b c")), headers(("a", "b"), ("c", "")))
    differ("Injection by an identity.", {"identity": "a\ncache-key b"}, {"identity": "a", "cacheKey": "b"})
    differ("Injection by a cache key.", {"cacheKey": "a\nmethod GET"}, {"cacheKey": "a"})
    differ("Injection by a prefix.", {"credentials": [{"header": "A", "prefix": "b c", "secret": "d"}]}, {"credentials": [{"header": "A", "prefix": "b", "secret": "c d"}]})
    differ("Injection by a JSON text.", json_body('"\n'), json_body("\\\"\\n"))
    differ("Injection by a method.", {"method": "GET"}, {"method": "GETorigin"})
    differ("Injection by the host and the path.", "http://h/a", "http://ha/")
    differ("Injection by the type.", text_body("a", "text/plain bytes"), text_body("a", "text/plain"))
    differ("Injection by a percent sign.", parameters(("a", "%0A")), parameters(("a", "\n")), parameters(("a", "%250A")))


def known_failures():
    """What other caches got wrong: each row measured of requests-cache 1.3.3 (RC) and TanStack Query 5 (TQ)."""
    differ("RC false hit: ?a= and no query and ?b=.", "http://h/?a=", "http://h/", "http://h/?b=")
    differ("RC false hit: JSON [1,2] and [2,1].", json_body([1, 2]), json_body([2, 1]))
    differ("RC false hit: POST /x with body yz and POST /xy with body z.", {"url": "http://h/x", "method": "POST", "body": {"text": "yz"}}, {"url": "http://h/xy", "method": "POST", "body": {"text": "z"}})
    differ("RC false hit: the same bytes with another Content-Type.", text_body("a", "text/plain"), text_body("a", "text/csv"))
    differ("RC false hit: ?a=1&a=2 and ?a=2&a=1.", "http://h/?a=1&a=2", "http://h/?a=2&a=1")
    differ("RC false hit: %ff and %fe.", "http://h/?a=%ff", "http://h/?a=%fe")
    refuse("RC false hit: %zz and %25zz; %zz is no escape.", "http://h/?a=%zz")
    case("RC false hit: %zz and %25zz.", "http://h/?a=%25zz")
    differ("RC false hit: a header A,B and a,b.", headers(("Accept", "A,B")), headers(("Accept", "a,b")))
    differ("RC false hit: duplicate JSON keys collapse.", text_body('{"a":1,"a":2}', "application/json"), text_body('{"a":2}', "application/json"), text_body('{"a":2,"a":1}', "application/json"))
    differ("RC false hit: Bob received Alice's response.", headers(("Authorization", "Bearer alice")), headers(("Authorization", "Bearer bob")))
    same("RC false miss: nested JSON key order.", json_body({"a": {"b": 1, "c": 2}}), json_body({"a": {"c": 2, "b": 1}}))
    same("RC false miss: key order inside a list of objects.", json_body([{"b": 1, "c": 2}]), json_body([{"c": 2, "b": 1}]))
    same("RC false miss: a fragment present or not.", "http://h/a", "http://h/a#b")
    same("RC false miss: 1 and 1.0.", raw_body('{"a": 1}'), raw_body('{"a": 1.0}'))
    same("RC false miss: an ignored parameter present and absent.", {"url": "http://h/?a=1&ts=2", "ignoring": ["ts"]}, {"url": "http://h/?a=1", "ignoring": ["ts"]})
    same("RC leak: redaction that compares names case-sensitively.", headers(("authorization", "a"), ("x-api-key", "b")), headers(("Authorization", "a"), ("X-API-KEY", "b")))
    same("TQ: nested key order.", parameters(("a", {"b": {"c": 1, "d": 2}}), objects="json"), parameters(("a", {"b": {"d": 2, "c": 1}}), objects="json"))
    differ("TQ false hit: an absent item and null.", json_body([None]), json_body([]))
    same("TQ: -0 and 0.", raw_body('{"a": -0.0}'), raw_body('{"a": 0}'))
    differ("TQ false hit: everything that is no plain object is {}.", json_body({}), json_body({"a": []}), json_body([]))
    differ("TQ false hit: own __proto__ dropped.", json_body({"__proto__": 1}), json_body({}))
    same("TQ: a large integer, for which BigInt throws.", json_body({"a": 9007199254740993, "b": 1}), json_body({"b": 1, "a": 9007199254740993}))
    differ("TQ: NFC is not NFD.", json_body({"a": "é"}), json_body({"a": "e\u0301"}))


for group in [page_example, methods, origins, user_information, paths, queries, parameter_values, destinations, header_lines,
              credentials, identities, named_secrets, cache_keys, ignoring, json_bodies, query_bodies, forms, bytes_bodies, multipart_bodies,
              injections, known_failures]:
    group()

written_cases = []
for given, rule in cases.items():
    form = canonical(given)
    written_cases.append({"rule": rule, "request": given, "canonical": form, "key": key(form)})
for entry in pairs:
    is_same = canonical(entry["one"]) == canonical(entry["other"])
    assert is_same == entry["same"], entry
for entry in refused:
    try:
        raise SystemExit(f"not refused: {entry} {canonical(entry['request'])}")
    except Refused:
        pass

fixture = {"version": 1, "secret": SECRET.hex(), "cases": written_cases, "pairs": pairs, "refused": refused}
print(json.dumps(fixture, indent=1, ensure_ascii=False))

/// What an option of `curl` means to a request.
enum CurlFlag: Hashable {
    case method, header, json, get, head, user, userAgent, referer, cookie, url, maxTime, globoff
    case data(CurlData.Form)
    case form, formString
    /// Changes nothing in what is sent.
    case ignored
    /// The same, with a value.
    case ignoredValue
    /// Why a request cannot do it, and the remedy.
    case refused(String)

    var takesValue: Bool {
        switch self {
        case .get, .head, .globoff, .ignored, .refused: false
        default: true
        }
    }

    static let long: [String: CurlFlag] = [
        "request": .method, "header": .header, "json": .json, "get": .get, "head": .head, "user": .user,
        "user-agent": .userAgent, "referer": .referer, "cookie": .cookie, "url": .url, "max-time": .maxTime,
        "globoff": .globoff, "data": .data(.text), "data-ascii": .data(.text), "data-raw": .data(.raw),
        "data-binary": .data(.binary), "data-urlencode": .data(.encoded),
        "location": .ignored, "compressed": .ignored, "silent": .ignored, "show-error": .ignored,
        "include": .ignored, "verbose": .ignored, "fail": .ignored, "path-as-is": .ignored, "http1.1": .ignored,
        "http2": .ignored, "output": .ignoredValue, "connect-timeout": .ignoredValue,
        "insecure": insecure, "form": .form, "form-string": .formString,
    ]

    static let short: [Character: CurlFlag] = [
        "X": .method, "H": .header, "G": .get, "I": .head, "u": .user, "A": .userAgent, "e": .referer, "b": .cookie,
        "m": .maxTime, "g": .globoff, "d": .data(.text), "L": .ignored, "s": .ignored, "S": .ignored, "i": .ignored,
        "v": .ignored, "f": .ignored, "o": .ignoredValue, "k": insecure, "F": .form,
    ]

    private static let insecure = refused("checks of certificates are never skipped: trust the server's certificate")
}

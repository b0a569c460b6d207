import Diamond

/// The meaning of an option of `curl` for a request.
enum CurlFlag: Hashable {
    case method, header, json, get, head, user, userAgent, referer, cookie, url, maxTime, globoff, pathAsIs
    case data(CurlData.Form)
    case form, formString
    /// The option does not change what is sent.
    case ignored
    /// The option does not change what is sent, and takes a value.
    case ignoredValue
    /// The option has no equivalent in a request. The text is the reason and the remedy.
    case refused(String)

    var takesValue: Bool {
        switch self {
        case .get, .head, .globoff, .pathAsIs, .ignored, .refused: false
        default: true
        }
    }

    static let long = supported.merging(withoutEffect) { flag, _ in flag }

    static let short: [Character: CurlFlag] = [
        "X": .method, "H": .header, "G": .get, "I": .head, "u": .user, "A": .userAgent, "e": .referer, "b": .cookie,
        "m": .maxTime, "g": .globoff, "d": .data(.text), "L": .ignored, "s": .ignored, "S": .ignored, "i": .ignored,
        "v": .ignored, "f": .ignored, "o": .ignoredValue, "k": insecure, "F": .form, "#": .ignored, "N": .ignored,
        "O": .ignored, "J": .ignored, "R": .ignored, "Z": .ignored, "D": .ignoredValue, "c": .ignoredValue,
        "w": .ignoredValue, "y": .ignoredValue, "Y": .ignoredValue,
    ]

    private static let supported: [String: CurlFlag] = [
        "request": .method, "header": .header, "json": .json, "get": .get, "head": .head, "user": .user,
        "user-agent": .userAgent, "referer": .referer, "cookie": .cookie, "url": .url, "max-time": .maxTime,
        "globoff": .globoff, "data": .data(.text), "data-ascii": .data(.text), "data-raw": .data(.raw),
        "data-binary": .data(.binary), "data-urlencode": .data(.encoded),
        "insecure": insecure, "form": .form, "form-string": .formString, "path-as-is": .pathAsIs,
    ]

    /// The options for output, display, open connections, limits and retries. All other options of curl are refused,
    /// because they would change what is sent, to which server, or over which connection.
    private static let withoutEffect: [String: CurlFlag] = {
        let switches = [
            "basic", "buffer", "clobber", "compressed", "create-dirs", "fail", "fail-early", "fail-with-body",
            "http1.1",
            "http2", "http3", "include", "keepalive", "location", "no-buffer", "no-clobber", "no-keepalive",
            "no-progress-meter", "no-sessionid", "parallel", "parallel-immediate", "progress-bar", "progress-meter",
            "remote-header-name", "remote-name", "remote-name-all", "remote-time", "remove-on-error",
            "retry-all-errors",
            "retry-connrefused", "show-error", "show-headers", "silent", "skip-existing", "styled-output",
            "suppress-connect-headers", "tcp-nodelay", "trace-ids", "trace-time", "verbose", "xattr",
        ]
        let valued = [
            "connect-timeout", "cookie-jar", "create-file-mode", "dump-header", "etag-save", "expect100-timeout",
            "happy-eyeballs-timeout-ms", "keepalive-cnt", "keepalive-time", "libcurl", "limit-rate", "output",
            "output-dir", "parallel-max", "parallel-max-host", "rate", "retry", "retry-delay", "retry-max-time",
            "speed-limit", "speed-time", "stderr", "trace", "trace-ascii", "trace-config", "write-out",
        ]
        let flags = switches.map { ($0, CurlFlag.ignored) } + valued.map { ($0, .ignoredValue) }
        return Dictionary(uniqueKeysWithValues: flags)
    }()

    private static let insecure = refused(
        "--insecure (-k) is refused, because certificate checks are never skipped: trust the server's certificate")
}

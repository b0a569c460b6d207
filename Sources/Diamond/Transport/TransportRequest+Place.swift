extension TransportRequest {
    /// The request's origin for error messages: scheme, host and port.
    var originText: String { (try? RequestURL(parsing: url))?.originText ?? "" }

    /// The URL for libraries that parse it with Foundation's `URL`, with brackets escaped. If one character of a
    /// component has to be escaped, Foundation escapes the whole component again.
    var strictURL: String {
        let rest = url.utf8.dropFirst(url.hasPrefix("https://") ? 8 : 7).drop { !"/?#".utf8.contains($0) }
        let escaped = PercentEncoding.escapingIllegal(rest).flatMap { byte in
            byte == UInt8(ascii: "[") ? Array("%5B".utf8) : byte == UInt8(ascii: "]") ? Array("%5D".utf8) : [byte]
        }
        return String(decoding: url.utf8[..<rest.startIndex] + escaped, as: UTF8.self)
    }
}

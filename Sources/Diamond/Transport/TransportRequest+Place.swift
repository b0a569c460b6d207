extension TransportRequest {
    /// The request's destination, for errors: scheme, host and port, without user info, path or query.
    var originText: String { (try? RequestURL(parsing: url))?.originText ?? "" }

    /// The URL for libraries that read it with Foundation's `URL`: that escapes a whole part once more where one character
    /// in it has to be, such as the brackets that others send bare.
    var strictURL: String {
        let rest = url.utf8.dropFirst(url.hasPrefix("https://") ? 8 : 7).drop { !"/?#".utf8.contains($0) }
        let escaped = PercentEncoding.escapingIllegal(rest).flatMap { byte in
            byte == UInt8(ascii: "[") ? Array("%5B".utf8) : byte == UInt8(ascii: "]") ? Array("%5D".utf8) : [byte]
        }
        return String(decoding: url.utf8[..<rest.startIndex] + escaped, as: UTF8.self)
    }
}

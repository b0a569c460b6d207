import Diamond

/// The content types that curl sends for a part without one, by the filename's extension (`Curl_mime_contenttype` in
/// its `mime.c`).
enum CurlMediaType {
    private static let known = [
        (".gif", "image/gif"), (".jpg", "image/jpeg"), (".jpeg", "image/jpeg"), (".png", "image/png"),
        (".svg", "image/svg+xml"), (".txt", "text/plain"), (".htm", "text/html"), (".html", "text/html"),
        (".pdf", "application/pdf"), (".xml", "application/xml"),
    ]

    static func guess(_ filename: String) -> String? {
        let name = filename.lowercased()
        return known.first { name.hasSuffix($0.0) }?.1
    }

    /// Returns the content type of a part that is a file.
    ///
    /// - Parameter filename: the filename sent to the server; `nil` if none is sent.
    static func guess(path: String, filename: String?) -> String? {
        guard let filename else { return guess(path).flatMap { $0 == "text/plain" ? nil : $0 } }
        return guess(filename) ?? guess(path) ?? "application/octet-stream"
    }
}

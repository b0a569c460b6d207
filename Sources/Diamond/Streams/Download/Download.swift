public import Foundation
public import HTTPTypes

/// A completed download: the head of the response, and the destination and size of its body.
public struct Download: Sendable {
    let head: Response
    /// The file with the body; `nil` if a ``DownloadSink`` received it.
    public let file: URL?
    /// The size of the body in bytes.
    public let size: Int

    /// The server's status, one of 2xx.
    public var status: HTTPResponse.Status { head.status }
    /// The server's headers.
    public var headers: HTTPFields { head.headers }
    /// The URL that the body is from, after redirects, without user info.
    public var url: String { head.url }
    /// The attempts of the download, in order, with the reason for each retry; empty if the first was the only one.
    public var attempts: [Attempt] { head.attempts }

    init(_ response: Response, in file: URL?, size: Int) {
        head = response.head
        self.file = file
        self.size = size
    }
}

extension Download: CustomStringConvertible {
    /// The status, source, URL, size and file, without possible secrets.
    public var description: String { "\(head), \(size) bytes" + (file.map { " in \($0.path)" } ?? "") }
}

extension Response {
    /// The response without its body.
    var head: Response {
        var head = self
        head.body = Data()
        return head
    }
}

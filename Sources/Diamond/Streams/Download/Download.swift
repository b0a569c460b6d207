public import Foundation
public import HTTPTypes

/// A body that is where it was to go, whole, and the head it came with.
public struct Download: Sendable {
    let head: Response
    /// The file that has it, where it was asked for; `nil` where a ``DownloadSink`` has taken it.
    public let file: URL?
    /// Bytes of the body.
    public let size: Int

    /// The server's, one of 2xx.
    public var status: HTTPResponse.Status { head.status }
    /// The server's.
    public var headers: HTTPFields { head.headers }
    /// The URL that answered, after redirects, without user info.
    public var url: String { head.url }
    /// The exchanges that it took, in order, with the reasons; empty where the first was all.
    public var attempts: [Attempt] { head.attempts }

    /// - Parameter response: its body is there.
    init(_ response: Response, in file: URL?, size: Int) {
        (head, self.file, self.size) = (response.head, file, size)
    }
}

extension Download: CustomStringConvertible {
    /// Status, source, URL, size and file, without what may be secret.
    public var description: String { "\(head), \(size) bytes" + (file.map { " in \($0.path)" } ?? "") }
}

extension Response {
    /// Without its body.
    var head: Response {
        var head = self
        head.body = Data()
        return head
    }
}

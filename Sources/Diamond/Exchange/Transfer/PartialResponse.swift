import Foundation
import HTTPTypes

/// A response whose transfer has not ended: its head, the bytes received so far, and the request for the rest.
struct PartialResponse: Sendable {
    /// The head, with the received bytes as its body. The body is empty if the bytes went into a ``BodySink``.
    private(set) var received: ReceivedResponse
    /// The range of the received bytes, and the length of the whole.
    private(set) var content: PartialContent

    /// Creates a partial response; `nil` if the response cannot be resumed.
    ///
    /// - Parameters:
    ///   - received: the head of a response, with the bytes that were received before.
    ///   - count: the number of these bytes, if they are in a ``BodySink``; `nil` if they are in the body.
    init?(_ received: ReceivedResponse, count: Int? = nil) {
        let content = PartialContent(
            status: received.status.code, headers: received.headers, count: count ?? received.body.count,
            now: received.receivedAt)
        guard let content else { return nil }
        self.received = received
        self.content = content
    }

    /// Whether a later attempt saves bytes by resuming it.
    var isWorthSaving: Bool { !content.received.isEmpty && content.missingCount >= 0 }

    /// Returns the request for the bytes that are missing.
    func requestForRest(of request: TransportRequest) -> TransportRequest {
        var request = request
        content.askForRest(in: &request.headers)
        return request
    }

    mutating func append(_ piece: Data) {
        content.append(count: piece.count)
        guard !received.isInSink else { return }
        if received.body.isEmpty { received.body = piece } else { received.body.append(piece) }
    }

    /// Returns the partial response with the header fields of a newer part.
    ///
    /// The newer fields replace those of the same names, except those that describe the body (RFC 9111 sections 3.4 and
    /// 3.2). The age is that of the newer part.
    ///
    /// - Parameter head: the head of the 206.
    func continued(by head: ReceivedResponse) -> PartialResponse {
        var next = self
        next.received.headers = HeaderBlock.updated(received.headers, by: head.headers)
        next.received.headers[.age] = head.headers[.age]
        next.received.noteNewerPart(head)
        return next
    }

    /// Returns the response as complete, because a 416 says that no byte is missing.
    func completed(by head: ReceivedResponse) -> ReceivedResponse {
        var complete = received
        complete.noteNewerPart(head)
        return complete
    }
}

extension ReceivedResponse {
    fileprivate mutating func noteNewerPart(_ head: ReceivedResponse) {
        self.sentAt = head.sentAt
        self.receivedAt = head.receivedAt
        self.partStatus = head.status.code
        // One personal part makes the whole response personal.
        self.isPersonal = self.isPersonal || head.isPersonal
        self.adaptedHeaders.formUnion(head.adaptedHeaders)
    }
}

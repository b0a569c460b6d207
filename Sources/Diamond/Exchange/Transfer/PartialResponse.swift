import Foundation
import HTTPTypes

/// A response whose transfer has not ended: its head, the bytes received so far, and how the rest is asked for.
struct PartialResponse: Sendable {
    /// The head, with the received bytes as its body. The body is empty where the bytes went into a ``BodySink``.
    private(set) var arrival: ReceivedResponse
    /// Which bytes were received, of how many.
    private(set) var content: PartialContent

    /// - Parameter arrival: the head of a response, with the bytes that were received before.
    /// - Returns: `nil` where the response cannot be resumed.
    init?(_ arrival: ReceivedResponse) {
        let content = PartialContent(
            status: arrival.status.code, headers: arrival.headers, count: arrival.body.count, now: arrival.receivedAt)
        guard let content else { return nil }
        self.arrival = arrival
        self.content = content
    }

    /// Whether a later attempt gains by resuming it.
    var isWorthKeeping: Bool { !content.received.isEmpty && content.missingCount >= 0 }

    /// Returns the request for the bytes that are missing.
    func requestForRest(of request: TransportRequest) -> TransportRequest {
        var request = request
        content.askForRest(in: &request.headers)
        return request
    }

    mutating func append(_ piece: Data) {
        content.append(count: piece.count)
        guard !arrival.isPoured else { return }
        if arrival.body.isEmpty { arrival.body = piece } else { arrival.body.append(piece) }
    }

    /// Returns the partial response with the header fields of a newer part.
    ///
    /// The newer fields replace those of the same names, except those that describe the body (RFC 9111 sections 3.4 and
    /// 3.2). The age is that of the newer part.
    ///
    /// - Parameter head: the head of the 206.
    func continued(by head: ReceivedResponse) -> PartialResponse {
        var next = self
        next.arrival.headers = HeaderBlock.updated(arrival.headers, by: head.headers)
        next.arrival.headers[.age] = head.headers[.age]
        next.arrival.noteNewerPart(head)
        return next
    }

    /// Returns the response, where a 416 says that no byte is missing.
    func completed(by head: ReceivedResponse) -> ReceivedResponse {
        var complete = arrival
        complete.noteNewerPart(head)
        return complete
    }
}

extension ReceivedResponse {
    fileprivate mutating func noteNewerPart(_ head: ReceivedResponse) {
        sentAt = head.sentAt
        receivedAt = head.receivedAt
        // One personal part makes the whole response personal.
        isPersonal = isPersonal || head.isPersonal
        adaptedHeaders.formUnion(head.adaptedHeaders)
    }
}

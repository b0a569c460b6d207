import Foundation
import HTTPTypes

/// What has been received of a response whose transfer is not at its end.
struct IncompleteArrival: Sendable {
    /// Its body is what is here, unless it is poured.
    private(set) var arrival: Arrival
    let continuation: Continuation
    private(set) var received: Int

    /// - Parameter arrival: the head, or what somebody has kept.
    /// - Returns: `nil` where it cannot be gone on with.
    init?(_ arrival: Arrival) {
        let continuation = Continuation(
            status: arrival.status.code, headers: arrival.headers, now: arrival.receivedAt)
        guard let continuation, arrival.body.count <= continuation.length else { return nil }
        (self.arrival, self.continuation, received) = (arrival, continuation, arrival.body.count)
    }

    /// Whether there is something to go on with.
    var isWorthKeeping: Bool { received > 0 && received <= continuation.length }

    /// The request for the rest.
    func rest(of request: TransportRequest) -> TransportRequest {
        var request = request
        continuation.ask(&request.headers, from: received)
        return request
    }

    mutating func append(_ piece: Data) {
        received += piece.count
        guard !arrival.isPoured else { return }
        if arrival.body.isEmpty { arrival.body = piece } else { arrival.body.append(piece) }
    }

    /// The same with what the head of the rest says: it is newer, and its fields take the place of those of their names,
    /// but for what describes the body (RFC 9111 sections 3.4 and 3.2). It is as old as the newest of it.
    func continued(by head: Arrival) -> IncompleteArrival {
        var next = self
        next.arrival.headers = HeaderBlock.updated(arrival.headers, by: head.headers)
        next.arrival.headers[.age] = head.headers[.age]
        next.arrival.noteRest(head)
        return next
    }

    /// The response, where an answer that has no body of it says that this is all.
    func completed(by head: Arrival) -> Arrival {
        var whole = arrival
        whole.noteRest(head)
        return whole
    }
}

extension Arrival {
    /// - Parameter head: what the rest began with.
    fileprivate mutating func noteRest(_ head: Arrival) {
        (sentAt, receivedAt) = (head.sentAt, head.receivedAt)
        // One part that is somebody's makes it all his.
        isPersonal = isPersonal || head.isPersonal
        adaptedHeaders.formUnion(head.adaptedHeaders)
    }
}

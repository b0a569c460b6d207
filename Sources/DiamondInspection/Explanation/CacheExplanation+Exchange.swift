package import Diamond
import HTTPTypes

/// A response that an engine has got, without its body.
package struct SentResponse: Sendable {
    package let head: Response
    package let bodySize: Int

    package init(head: Response, bodySize: Int) {
        self.head = head
        self.bodySize = bodySize
    }
}

extension CacheExplanation {
    /// The exchange that was made for an explanation, and the decision about storing its response.
    package struct Exchange: Sendable, Encodable {
        package let status: Int
        /// The source of the response: `network`, `cache` and others, as `send` names them.
        package let source: String
        /// Whether the response was stored; absent if it came from the cache.
        package private(set) var isStored: Bool?
        /// The clause that forbids to store the response; absent if it was stored, or came from the cache.
        package private(set) var clause: String?
        package private(set) var reason: String?
        /// The field that decides, with its value; absent if none does.
        package private(set) var field: String?

        /// - Parameters:
        ///   - refusal: the reason why the rules forbid to store the response; `nil` if they allow it.
        ///   - entries: what is stored after the exchange.
        init(
            _ sent: SentResponse,
            refusal: StoreRefusal?,
            to request: Request,
            in preview: CachePreview,
            entries: [Entry],
            at now: WallTime
        ) {
            status = sent.head.status.code
            source = sent.head.source.rawValue
            guard sent.head.source == .network else { return }
            let isPart = status == 206 && entries.contains { $0.part != nil }
            let isStored = sent.head.cacheStatus?.isStored == true || isPart
            self.isStored = isStored
            guard !isStored else { return }
            let refused = refusal.map { refusal in
                Reason(
                    refusal, of: sent.head, to: request,
                    unkeyed: Reason.decision(preview, request: request, entries: entries, at: now),
                    targets: preview.targets)
            }
            clause = refused?.clause ?? "store"
            reason = refused?.text ?? "the rules allow it: it was erased, replaced or not written"
            field = refused?.field
        }
    }
}

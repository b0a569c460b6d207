/// A completed invalidation or erasure of entries by this process.
struct CacheInvalidation: Sendable {
    /// The effect on the response to a request.
    enum Effect: Int, Comparable {
        case none
        /// The effect is unknown until the store is read.
        case unknown
        /// The response is stale or erased.
        case outdated
        /// All entries of the response's user were erased.
        case forgotten

        static func < (left: Effect, right: Effect) -> Bool { left.rawValue < right.rawValue }
    }

    private let selections: [InvalidationLog.Selection]
    private let isErasure: Bool

    /// - Parameter changedURLs: the URLs that an unsafe request has changed (RFC 9111 section 4.4).
    init(of selections: [CacheSelection], changedURLs: Set<String> = [], isErasure: Bool = false) {
        self.selections =
            selections.map { InvalidationLog.Selection(content: $0, reachesOtherQueries: false) }
            + changedURLs.map { InvalidationLog.Selection(content: .url($0), reachesOtherQueries: true) }
        self.isErasure = isErasure
    }

    /// Returns the effect on a response.
    ///
    /// - Parameter subject: its tags include its groups.
    func effect(on subject: CacheSubject) -> Effect {
        selections.map { effect(of: $0, on: subject) }.max() ?? .none
    }

    private func effect(of selection: InvalidationLog.Selection, on subject: CacheSubject) -> Effect {
        guard selection.includes(subject) else { return selection.content.isDecidedByStore ? .unknown : .none }
        if isErasure, case .identity = selection.content.criterion { return .forgotten }
        return .outdated
    }
}

extension CacheSelection {
    /// Whether only the store can tell which responses are selected. This is so for a selection by age, and by keys,
    /// which may be those of variants.
    fileprivate var isDecidedByStore: Bool {
        switch criterion {
        case .key, .keys, .storedBefore, .expired, .sealedHost, .sealedIdentities: true
        case .all, .tag, .identity, .url, .urlPrefix, .host: false
        }
    }
}

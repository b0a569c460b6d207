/// An event that concerns all queries of an engine.
enum QuerySignal: Sendable {
    case invalidation(CacheInvalidation)
    /// Entries were changed on disk; `nil` if any may have changed.
    case change(ChangedNames?)
    /// A call of an engine without a cache has a new response.
    case answer(NewAnswer)
    /// Another process may have stored a response since the last poll.
    case poll
    case network(isReachable: Bool)
    case foreground

    /// Returns the event for one query; `nil` if the signal does not concern it.
    func event<Value>(for life: QueryLife<Value>, settings: some Collection<QuerySettings>) -> QueryEvent? {
        switch self {
        case .invalidation(let invalidation): life.event(of: invalidation)
        case .change(let names): life.isConcerned(by: names) ? .maybeChanged : nil
        case .answer(let answer): life.lastLookup?.subject.key == answer.key ? .maybeChanged : nil
        case .poll: .polled
        case .network(let isReachable):
            settings.include(.networkReturn) ? .network(isReachable: isReachable) : nil
        case .foreground: settings.include(.foreground) ? .foreground : nil
        }
    }
}

extension QueryLife {
    fileprivate func event(of invalidation: CacheInvalidation) -> QueryEvent? {
        guard let lookup = lastLookup else { return .outdated }
        var subject = lookup.subject
        if let response = state.response {
            let origin = (try? RequestURL(subject.url)).map { String(decoding: $0.origin, as: UTF8.self) } ?? ""
            subject.tags.formUnion(CacheGroups.names(of: response.headers, origin: origin))
        }
        return switch invalidation.effect(on: subject) {
        case .none: nil
        case .unknown: .maybeChanged
        case .outdated: .outdated
        case .forgotten: .forgotten
        }
    }

    fileprivate func isConcerned(by names: ChangedNames?) -> Bool {
        guard let names, let own = lastLookup?.names else { return true }
        return !names.keys.isDisjoint(with: own.keys) || !names.urls.isDisjoint(with: own.urls)
    }
}

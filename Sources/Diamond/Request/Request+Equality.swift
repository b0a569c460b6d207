import HTTPTypes

extension Request {
    /// Whether two requests are the same value. Texts compare by their bytes, as servers do: a composed and a
    /// decomposed `é` are two.
    public static func == (one: Request, other: Request) -> Bool {
        one.isSentLike(other) && one.isIdentified(like: other) && one.isHandled(like: other)
    }

    /// Hashes equal requests alike. Properties that rarely tell two requests apart are left out.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(url)
        hasher.combine(parameters)
        hasher.combine(body)
        hasher.combine(identity)
    }

    private func isSentLike(_ other: Request) -> Bool {
        method == other.method && url.isExactly(other.url) && parameters == other.parameters
            && destination == other.destination && encoding == other.encoding && headers.isExactly(other.headers)
            && body == other.body && credentials == other.credentials
    }

    private func isIdentified(like other: Request) -> Bool {
        identity.isExactly(other.identity) && cacheKey.isExactly(other.cacheKey) && rules == other.rules
    }

    private func isHandled(like other: Request) -> Bool {
        cache == other.cache && tags == other.tags && invalidates == other.invalidates
            && lane == other.lane && retry == other.retry && replay == other.replay && bodyLimit == other.bodyLimit
            && timeout == other.timeout
    }
}

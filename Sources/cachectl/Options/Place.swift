#if Tools
import Diamond

/// The place of a queue or a cache: a store, or a server.
enum Place {
    case store(Store)
    case server(ServerURL)

    /// - Parameters:
    ///   - url: the value of an option; `nil` if it is not given.
    ///   - variable: the variable with the URL of a server, which counts if no option names a place.
    ///   - store: the options that name a store.
    init(_ url: String?, or variable: String, besides store: StoreChoice) throws {
        let text = url ?? (store.isNamed ? "" : store.variable(variable))
        if text.isEmpty {
            self = .store(store.location)
        } else if let server = ServerURL(text) {
            self = .server(server)
        } else {
            throw Failure.report(Failure.usage, "\(variable) is not \(ServerURL.form)")
        }
    }

    /// - Parameter text: the path of a store's directory, or a URL.
    init(pathOrURL text: String) {
        self = ServerURL(text).map { .server($0) } ?? .store(Store(directory: StoreChoice.directory(text)))
    }

    var server: ServerURL? {
        if case .server(let server) = self { server } else { nil }
    }

    /// The store; `nil` for a server.
    var store: Store? {
        if case .store(let store) = self { store } else { nil }
    }

    /// Returns the places of a cache and a queue that a command examines. If only one of them is on a server, the store
    /// counts only if it is named.
    static func examined(cache: Place, queue: Place, store: StoreChoice) -> (cache: Place?, queue: Place?) {
        let isLocal = store.isChosen || (cache.server == nil && queue.server == nil)
        return (cache.server != nil || isLocal ? cache : nil, queue.server != nil || isLocal ? queue : nil)
    }

    /// Opens the queue.
    ///
    /// - Parameters:
    ///   - seal: the seal of a store. A server's queue has none.
    ///   - create: whether a missing queue is created, and one in clear sealed.
    func queue(_ seal: AESGCMSeal?, create: Bool = false) async throws -> ReplayQueue {
        switch self {
        case .store(let store) where create: try ReplayQueue(store, seal: seal)
        case .store(let store): try ReplayQueue(existing: store, seal: seal)
        case .server(let url): ReplayQueue(storage: try await url.replayStorage(create: create))
        }
    }
}
#endif

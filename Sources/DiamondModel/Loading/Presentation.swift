import Diamond

/// The state of an object that is loaded, as it is to be shown.
public enum Presentation: Hashable, Sendable {
    /// Nothing was loaded, and no load is under way.
    case nothing
    /// A sign that it is being loaded for the first time.
    case loading
    /// The content, also while it is loaded again and when that has failed.
    case content
    /// Everything is loaded, and there is nothing.
    case empty
    /// There is nothing because of an error, and a way to try again. The message is for the user.
    case error(String)
    /// There is nothing because no server could be reached, and a way to try again.
    case offline
}

extension Presentation {
    /// Creates the presentation of an object.
    ///
    /// - Parameters:
    ///   - state: the state of loading.
    ///   - hasContent: whether there is something to show.
    ///   - describe: returns the message of an error.
    init(of state: LoadState, hasContent: Bool, describe: (any Error) -> String) {
        if hasContent {
            self = .content
        } else if state.isLoading {
            self = .loading
        } else if let error = state.error {
            self = state.isOffline ? .offline : .error(describe(error))
        } else {
            self = state.isLoaded ? .empty : .nothing
        }
    }
}

extension LoadState {
    /// Whether the last load has failed because no server could be reached, as for a banner over the rows that are there.
    public var isOffline: Bool { (error as? ConnectionError)?.code == .cannotConnect }
}

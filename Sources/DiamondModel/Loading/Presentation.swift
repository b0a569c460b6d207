import Diamond

/// The state of a loaded object for its presentation.
public enum Presentation: Hashable, Sendable {
    /// Nothing was loaded, and no load is under way.
    case nothing
    /// The object is being loaded for the first time. Show an activity indicator.
    case loading
    /// There is content. It is also shown while the object is loaded again, and if that load fails.
    case content
    /// The object is loaded, and there is no content.
    case empty
    /// There is no content because of an error. Offer a retry. The message is for the user.
    case error(String)
    /// There is no content because no server could be reached. Offer a retry.
    case offline
}

extension Presentation {
    /// Creates the presentation of an object.
    ///
    /// - Parameters:
    ///   - state: The state of loading.
    ///   - hasContent: Whether there is something to show.
    ///   - describe: Returns the message of an error.
    package init(of state: LoadState, hasContent: Bool, describe: (any Error) -> String) {
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
    /// Whether the last load failed because of the network (`ConnectionError.isOffline`), for example for a banner
    /// over existing rows.
    public var isOffline: Bool { (error as? ConnectionError)?.isOffline == true }
}

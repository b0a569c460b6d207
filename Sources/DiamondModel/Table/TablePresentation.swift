/// The state of a table as a whole.
public enum TablePresentation: Hashable, Sendable {
    /// There are no rows yet.
    case loading
    /// There are rows, also while they are loaded again or when that has failed.
    case content
    /// Everything is loaded, and there are no rows.
    case empty
    /// There are no rows because of an error. The message is for the user.
    case error(String, canRetry: Bool)
    /// There are no rows because the server cannot be reached.
    case offline
}

/// The state of the row at a table's end that stands for further pages.
public enum TableMore: Hashable, Sendable {
    /// There are no further pages, or nothing is loaded.
    case none
    /// There is a further page.
    case ready
    /// A further page is on its way.
    case loading
    /// The last load has failed. The message is for the user, who may retry.
    case failed(String)
}

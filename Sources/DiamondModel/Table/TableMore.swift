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

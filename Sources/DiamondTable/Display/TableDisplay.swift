public import DiamondModel

/// A view that shows the rows of a ``TableSource``: a table view, a collection view, a terminal.
///
/// A ``TableController`` calls it. Calls never overlap.
public protocol TableDisplay: AnyObject {
    /// Whether the view is in a window. While it is not, changes are applied without batches, and the view reloads.
    var isOnScreen: Bool { get }

    /// Performs a batch as one animation, and calls `update` once and synchronously in it.
    ///
    /// The source returns the old rows before `update` is called, and the new rows after it.
    func performBatch(_ batch: TableBatch, update: @escaping () -> Void)

    /// Reloads everything from the source.
    func reload()

    /// Configures the rows at some paths again, without replacing their views. Replaces the view only if a row now
    /// needs another kind of view.
    func reconfigure(_ paths: [RowPath])

    /// Shows the state of the table (loading, empty, failed), and the row for the next page. Does nothing by default.
    ///
    /// A view that loads pages by itself starts a task that calls ``TableSource/loadMore(showing:)`` with the last
    /// visible row when `more` is ``NextPageState/ready``.
    func show(_ presentation: Presentation, more: NextPageState)

    /// Shows or hides the controls for editing. Does nothing by default.
    func setEditing(_ isEditing: Bool)
}

extension TableDisplay {
    public func show(_ presentation: Presentation, more: NextPageState) {}
    public func setEditing(_ isEditing: Bool) {}
}

/// The state of the row at the end of a table that loads the next page.
public enum NextPageState: Hashable, Sendable {
    /// There is no next page, or nothing is loaded.
    case none
    /// There is a next page.
    case ready
    /// The next page is being loaded.
    case loading
    /// The last load failed. The message is for the user, who can retry.
    case failed(String)
}

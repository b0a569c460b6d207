/// A view that shows the rows of a ``TableSource``: a table view, a collection view, a terminal.
///
/// A ``TableController`` calls it, never while one of its calls is under way.
public protocol TableDisplay: AnyObject {
    /// Whether the view is in a window. While it is not, changes are applied without batches, and the view reloads.
    var isOnScreen: Bool { get }

    /// Performs a batch as one animation, and calls `update` once in it, synchronously.
    ///
    /// The source answers with the old rows until `update` is called, and with the new ones from then on.
    func performBatch(_ batch: TableBatch, update: @escaping () -> Void)

    /// Asks the source for everything again.
    func reload()

    /// Configures the rows at some paths again, without replacing their views. A row whose object has a view of another
    /// kind now gets that view.
    func reconfigure(_ paths: [RowPath])

    /// Shows that the table loads, is empty or has failed, and the row at its end that stands for further pages. Nothing by
    /// default.
    ///
    /// A view that loads more by itself calls ``TableSource/loadMore(showing:)`` with the last row on show, in a task, when
    /// `more` is ``TableMore/ready``.
    func show(_ presentation: Presentation, more: TableMore)

    /// Shows or hides the controls for editing. Nothing by default.
    func setEditing(_ isEditing: Bool)
}

extension TableDisplay {
    public func show(_ presentation: Presentation, more: TableMore) {}
    public func setEditing(_ isEditing: Bool) {}
}

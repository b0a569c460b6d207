#if canImport(UIKit) && !os(watchOS)
import DiamondModel
public import UIKit

/// The data source, delegate and display of a table view. It passes all calls to the ``TableSource`` of its controller.
///
/// Changes wait while a dragged row is over another row's place. UIKit does not report when a row is lifted, so changes
/// are applied until the row is over another place. UIKit does not report a canceled drag either: changes then wait
/// until the user scrolls, drags again or ends editing. To control this, set ``TableController/isSuspended``.
///
/// The table view does not retain the adapter. Not compiled on Linux, where the tests of this package run.
@MainActor
open class TableViewAdapter: ViewAdapter, UITableViewDataSource, UITableViewDelegate {
    public init(
        _ tableView: UITableView, source: TableSource, registry: RepresentationRegistry<ViewRepresentation>
    ) {
        super.init(view: tableView, source: source, registry: registry)
        tableView.dataSource = self
        tableView.delegate = self
        controller.display = self
    }

    /// Whether the user drags a row or has just dropped it. Changes wait meanwhile.
    private var isDragging = false {
        didSet {
            if isDragging == oldValue { return }
            if isDragging { controller.hold() } else { controller.release() }
        }
    }

    /// Ends a drag in a new task: the table view accepts no batch before the current call returns.
    private func endDrag() { Task { isDragging = false } }

    // MARK: Data source

    open func numberOfSections(in tableView: UITableView) -> Int { source.numberOfSections }

    open func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int {
        source.numberOfRows(in: section)
    }

    open func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? {
        source.title(of: section)
    }

    open func tableView(_ tableView: UITableView, titleForFooterInSection section: Int) -> String? {
        source.footer(of: section)
    }

    open func sectionIndexTitles(for tableView: UITableView) -> [String]? { source.sectionIndexTitles }

    open func tableView(
        _ tableView: UITableView, sectionForSectionIndexTitle title: String, at index: Int
    ) -> Int { source.section(forIndexTitle: title) }

    open func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
        guard let representation = representation(at: indexPath) else { return UITableViewCell() }
        tableView.register(representation.viewClass, forCellReuseIdentifier: representation.reuseIdentifier)
        let cell = tableView.dequeueReusableCell(withIdentifier: representation.reuseIdentifier, for: indexPath)
        representation.configure(cell)
        return cell
    }

    // MARK: Editing

    open func tableView(_ tableView: UITableView, canEditRowAt indexPath: IndexPath) -> Bool {
        source.canRemove(RowPath(indexPath)) || source.canMove(RowPath(indexPath))
    }

    open func tableView(
        _ tableView: UITableView, editingStyleForRowAt indexPath: IndexPath
    ) -> UITableViewCell.EditingStyle { source.canRemove(RowPath(indexPath)) ? .delete : .none }

    open func tableView(
        _ tableView: UITableView, commit editingStyle: UITableViewCell.EditingStyle, forRowAt indexPath: IndexPath
    ) {
        if editingStyle == .delete { source.remove(at: RowPath(indexPath)) }
    }

    open func tableView(_ tableView: UITableView, canMoveRowAt indexPath: IndexPath) -> Bool {
        source.canMove(RowPath(indexPath))
    }

    open func tableView(
        _ tableView: UITableView, targetIndexPathForMoveFromRowAt indexPath: IndexPath,
        toProposedIndexPath proposed: IndexPath
    ) -> IndexPath {
        let target = IndexPath(source.target(ofMoving: RowPath(indexPath), to: RowPath(proposed)))
        // UIKit does not report that a row was dropped at its old place.
        if target == indexPath { endDrag() } else { isDragging = true }
        return target
    }

    open func tableView(_ tableView: UITableView, moveRowAt indexPath: IndexPath, to target: IndexPath) {
        isDragging = true
        source.move(from: RowPath(indexPath), to: RowPath(target))
        endDrag()
    }

    open func scrollViewWillBeginDragging(_ scrollView: UIScrollView) { isDragging = false }

    // MARK: Delegate

    open func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {
        source.select(RowPath(indexPath))
    }

    open func tableView(_ tableView: UITableView, didDeselectRowAt indexPath: IndexPath) {
        source.deselect(RowPath(indexPath))
    }

    open func tableView(_ tableView: UITableView, didHighlightRowAt indexPath: IndexPath) {
        source.highlight(RowPath(indexPath))
    }

    open func tableView(_ tableView: UITableView, didUnhighlightRowAt indexPath: IndexPath) { source.highlight(nil) }

    open func tableView(
        _ tableView: UITableView, willDisplay cell: UITableViewCell, forRowAt indexPath: IndexPath
    ) { willDisplay(indexPath) }

    public override func setEditing(_ isEditing: Bool) {
        super.setEditing(isEditing)
        isDragging = false
    }
}

extension UITableView: RowView {
    var selectedRows: [IndexPath] { indexPathsForSelectedRows ?? [] }
    var visibleRows: [IndexPath] { indexPathsForVisibleRows ?? [] }
    func reuseIdentifier(at indexPath: IndexPath) -> String? { cellForRow(at: indexPath)?.reuseIdentifier }
    func selectRow(at indexPath: IndexPath) { selectRow(at: indexPath, animated: false, scrollPosition: .none) }
    func deselectRow(at indexPath: IndexPath) { deselectRow(at: indexPath, animated: false) }

    func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        performBatchUpdates { [self] in
            update()
            deleteSections(IndexSet(batch.deletedSections), with: .automatic)
            insertSections(IndexSet(batch.insertedSections), with: .automatic)
            deleteRows(at: batch.deletions.map { IndexPath($0) }, with: .automatic)
            insertRows(at: batch.insertions.map { IndexPath($0) }, with: .automatic)
            for move in batch.moves { moveRow(at: IndexPath(move.from), to: IndexPath(move.to)) }
        }
    }

    func reloadRows(at indexPaths: [IndexPath]) { reloadRows(at: indexPaths, with: .none) }
    func showEditing(_ isEditing: Bool) { setEditing(isEditing, animated: true) }
}
#endif

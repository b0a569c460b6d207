#if canImport(UIKit) && !os(watchOS)
public import UIKit

/// The data source, delegate and display of a table view, which passes everything on to the ``TableSource`` of its controller.
///
/// Changes wait while a dragged row is over another place than its own. A table view does not tell that a row was lifted, so
/// they are applied until then; nor that a drag was canceled, so they wait until the user scrolls, drags again or ends editing.
/// An app that knows better sets ``TableController/isSuspended``.
///
/// The table view does not keep the adapter. Not compiled on Linux, where the tests of this package run.
@MainActor
open class TableViewAdapter: NSObject, UITableViewDataSource, UITableViewDelegate {
    public let controller: TableController
    /// The cells by the types of models. The fallback has to be of a subclass of `UITableViewCell`, as all.
    public let registry: RepresentationRegistry<ViewRepresentation>
    /// Shows that the table loads, is empty or has failed, and the state of further pages.
    public var showState: (Presentation, TableMore) -> Void = { _, _ in }
    fileprivate weak var tableView: UITableView?

    public init(
        _ tableView: UITableView, source: TableSource, registry: RepresentationRegistry<ViewRepresentation>
    ) {
        controller = TableController(source)
        self.registry = registry
        self.tableView = tableView
        super.init()
        tableView.dataSource = self
        tableView.delegate = self
        controller.display = self
    }

    private var source: TableSource { controller.source }

    /// Whether the user drags a row or has just let it go. Changes wait meanwhile.
    private var isDragging = false {
        didSet {
            if isDragging == oldValue { return }
            if isDragging { controller.hold() } else { controller.release() }
        }
    }

    /// Ends a drag once the table view has ended what it is doing: it takes no batch before.
    private func endDrag() { Task { isDragging = false } }

    #if !os(tvOS)
    /// Adds a control that loads everything again when the user pulls it.
    public func addRefreshControl() {
        let control = UIRefreshControl()
        let action = UIAction { [weak self, weak control] _ in
            Task { [weak self, weak control] in
                await self?.source.refresh()
                control?.endRefreshing()
            }
        }
        control.addAction(action, for: .valueChanged)
        tableView?.refreshControl = control
    }
    #endif

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

    private func representation(at indexPath: IndexPath) -> ViewRepresentation? {
        let path = RowPath(indexPath)
        return source.representedObject(at: path).map { registry.representation(of: $0, state: source.state(at: path)) }
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
        // Nothing tells that a row is let go where it was.
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
    ) {
        showSelection(at: indexPath)
        loadMore(showing: RowPath(indexPath))
    }

    /// Brings the selection that the view keeps into line with the source's.
    private func showSelection(at indexPath: IndexPath) {
        guard let tableView else { return }
        let isSelected = source.state(at: RowPath(indexPath)).contains(.selected)
        let isShown = tableView.indexPathsForSelectedRows?.contains(indexPath) ?? false
        if isSelected, !isShown { tableView.selectRow(at: indexPath, animated: false, scrollPosition: .none) }
        if isShown, !isSelected { tableView.deselectRow(at: indexPath, animated: false) }
    }

    /// Loads more if the last row on show is near the end.
    private func loadMore(showing path: RowPath?) {
        let source = source
        if source.needsMore(showing: path) { Task { await source.loadMore(showing: path) } }
    }
}

extension TableViewAdapter: @MainActor TableDisplay {
    public var isOnScreen: Bool { tableView?.window != nil }

    public func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        guard let tableView else { return }
        tableView.performBatchUpdates {
            update()
            tableView.deleteSections(IndexSet(batch.deletedSections), with: .automatic)
            tableView.insertSections(IndexSet(batch.insertedSections), with: .automatic)
            tableView.deleteRows(at: batch.deletions.map { IndexPath($0) }, with: .automatic)
            tableView.insertRows(at: batch.insertions.map { IndexPath($0) }, with: .automatic)
            for move in batch.moves { tableView.moveRow(at: IndexPath(move.from), to: IndexPath(move.to)) }
        }
    }

    public func reload() {
        tableView?.allowsMultipleSelection = source.allowsMultipleSelection
        tableView?.reloadData()
    }

    public func reconfigure(_ paths: [RowPath]) {
        guard let tableView else { return }
        let all = paths.map { IndexPath($0) }
        // A table view refuses a cell of another kind for a row that is configured again.
        let kept = all.filter {
            tableView.cellForRow(at: $0)?.reuseIdentifier == representation(at: $0)?.reuseIdentifier
        }
        tableView.reconfigureRows(at: kept)
        let replaced = Set(all).subtracting(kept)
        if !replaced.isEmpty { tableView.reloadRows(at: Array(replaced), with: .none) }
        for indexPath in all { showSelection(at: indexPath) }
    }

    public func show(_ presentation: Presentation, more: TableMore) {
        showState(presentation, more)
        if more == .ready { loadMore(showing: tableView?.indexPathsForVisibleRows?.max().map { RowPath($0) }) }
    }

    public func setEditing(_ isEditing: Bool) {
        tableView?.setEditing(isEditing, animated: true)
        isDragging = false
    }
}

extension RowPath {
    /// Creates the path of an index path with a section and a row or item.
    public init(_ indexPath: IndexPath) { self.init(section: indexPath.section, row: indexPath.item) }
}

extension IndexPath {
    /// Creates an index path of a section and a row or item.
    public init(_ path: RowPath) { self.init(item: path.row, section: path.section) }
}
#endif

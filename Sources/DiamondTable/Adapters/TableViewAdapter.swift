#if canImport(UIKit) && !os(watchOS)
public import DiamondModel
public import UIKit

/// The data source, delegate and display of a table view. It passes all calls to the ``TableSource`` of its controller.
///
/// Changes wait while a dragged row is over another row's place. UIKit does not report when a row is lifted, so changes
/// are applied until the row is over another place. UIKit does not report a canceled drag either: changes then wait
/// until the user scrolls, drags again or ends editing. To control this, set ``TableController/isSuspended``.
///
/// The table view does not retain the adapter. Not compiled on Linux, where the tests of this package run.
@MainActor
open class TableViewAdapter: NSObject, UITableViewDataSource, UITableViewDelegate {
    public let controller: TableController
    /// The cells by the types of models. All, including the fallback, have to be subclasses of `UITableViewCell`.
    public let registry: RepresentationRegistry<ViewRepresentation>
    /// Shows the state of the table (loading, empty, failed), and of the next page.
    public var showState: (Presentation, NextPageState) -> Void = { _, _ in }
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

    /// Whether the user drags a row or has just dropped it. Changes wait meanwhile.
    private var isDragging = false {
        didSet {
            if isDragging == oldValue { return }
            if isDragging { controller.hold() } else { controller.release() }
        }
    }

    /// Ends a drag in a new task: the table view accepts no batch before the current call returns.
    private func endDrag() { Task { isDragging = false } }

    #if !os(tvOS)
    /// Adds a refresh control, which loads new items.
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
    ) {
        showSelection(at: indexPath)
        loadMore(showing: RowPath(indexPath))
    }

    /// Updates the view's own selection from the source.
    private func showSelection(at indexPath: IndexPath) {
        guard let tableView else { return }
        let isSelected = source.state(at: RowPath(indexPath)).contains(.selected)
        let isShown = tableView.indexPathsForSelectedRows?.contains(indexPath) ?? false
        if isSelected, !isShown { tableView.selectRow(at: indexPath, animated: false, scrollPosition: .none) }
        if isShown, !isSelected { tableView.deselectRow(at: indexPath, animated: false) }
    }

    /// Loads the next page if the last visible row is near the end.
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
        // reconfigureRows refuses a cell with another reuse identifier.
        let reconfigurable = all.filter {
            tableView.cellForRow(at: $0)?.reuseIdentifier == representation(at: $0)?.reuseIdentifier
        }
        tableView.reconfigureRows(at: reconfigurable)
        let replaced = Set(all).subtracting(reconfigurable)
        if !replaced.isEmpty { tableView.reloadRows(at: Array(replaced), with: .none) }
        for indexPath in all { showSelection(at: indexPath) }
    }

    public func show(_ presentation: Presentation, more: NextPageState) {
        showState(presentation, more)
        if more == .ready { loadMore(showing: tableView?.indexPathsForVisibleRows?.max().map { RowPath($0) }) }
    }

    public func setEditing(_ isEditing: Bool) {
        tableView?.setEditing(isEditing, animated: true)
        isDragging = false
    }
}

extension RowPath {
    /// Creates a path from an index path with a section and a row or item.
    public init(_ indexPath: IndexPath) { self.init(section: indexPath.section, row: indexPath.item) }
}

extension IndexPath {
    /// Creates an index path with a section and a row or item.
    public init(_ path: RowPath) { self.init(item: path.row, section: path.section) }
}
#endif

#if canImport(UIKit) && !os(watchOS)
public import DiamondModel
public import UIKit

/// The display of a table view or collection view: the superclass of ``TableViewAdapter`` and
/// ``CollectionViewAdapter``.
@MainActor
open class ViewAdapter: NSObject, @MainActor TableDisplay {
    public let controller: TableController
    /// The cells by the types of models. All, including the fallback, have to be subclasses of `UITableViewCell` or
    /// `UICollectionViewCell`, as the view requires.
    public let registry: RepresentationRegistry<ViewRepresentation>
    /// Shows the state of the table (loading, empty, failed), and of the next page.
    public var showState: (Presentation, NextPageState) -> Void = { _, _ in }
    private weak var view: (any RowView)?

    /// Creates the display of a view. A subclass then sets the data source and delegate, and the controller's display.
    init(view: any RowView, source: TableSource, registry: RepresentationRegistry<ViewRepresentation>) {
        controller = TableController(source)
        self.registry = registry
        self.view = view
        super.init()
    }

    var source: TableSource { controller.source }

    func representation(at indexPath: IndexPath) -> ViewRepresentation? {
        let path = RowPath(indexPath)
        return source.representedObject(at: path).map { registry.representation(of: $0, state: source.state(at: path)) }
    }

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
        view?.refreshControl = control
    }
    #endif

    /// Prepares a row that is about to be displayed: updates the view's own selection, and loads the next page if the
    /// row is near the end.
    func willDisplay(_ indexPath: IndexPath) {
        showSelection(at: indexPath)
        source.startLoadingMore(showing: RowPath(indexPath))
    }

    /// Updates the view's own selection from the source.
    private func showSelection(at indexPath: IndexPath) {
        guard let view else { return }
        let isSelected = source.state(at: RowPath(indexPath)).contains(.selected)
        let isShown = view.selectedRows.contains(indexPath)
        if isSelected, !isShown { view.selectRow(at: indexPath) }
        if isShown, !isSelected { view.deselectRow(at: indexPath) }
    }

    // MARK: Display

    public var isOnScreen: Bool { view?.window != nil }

    public func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        view?.performBatch(batch, update: update)
    }

    public func reload() {
        view?.allowsMultipleSelection = source.allowsMultipleSelection
        view?.reloadData()
    }

    public func reconfigure(_ paths: [RowPath]) {
        guard let view else { return }
        let all = paths.map { IndexPath($0) }
        // The view refuses to reconfigure a cell with another reuse identifier.
        let reconfigurable = all.filter { view.reuseIdentifier(at: $0) == representation(at: $0)?.reuseIdentifier }
        view.reconfigureRows(at: reconfigurable)
        let replaced = Set(all).subtracting(reconfigurable)
        if !replaced.isEmpty { view.reloadRows(at: Array(replaced)) }
        for indexPath in all { showSelection(at: indexPath) }
    }

    public func show(_ presentation: Presentation, more: NextPageState) {
        showState(presentation, more)
        if more == .ready { source.startLoadingMore(showing: view?.visibleRows.max().map { RowPath($0) }) }
    }

    public func setEditing(_ isEditing: Bool) { view?.showEditing(isEditing) }
}

/// The operations that a table view and a collection view have under different names.
@MainActor
protocol RowView: UIScrollView {
    var allowsMultipleSelection: Bool { get set }
    var selectedRows: [IndexPath] { get }
    var visibleRows: [IndexPath] { get }

    /// Returns the reuse identifier of a visible cell, or `nil`.
    func reuseIdentifier(at indexPath: IndexPath) -> String?
    func selectRow(at indexPath: IndexPath)
    func deselectRow(at indexPath: IndexPath)
    func performBatch(_ batch: TableBatch, update: @escaping () -> Void)
    func reloadData()
    func reconfigureRows(at indexPaths: [IndexPath])
    func reloadRows(at indexPaths: [IndexPath])
    func showEditing(_ isEditing: Bool)
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

#if canImport(UIKit) && !os(watchOS)
public import DiamondModel
public import UIKit

/// The data source, delegate and display of a collection view. It passes all calls to the ``TableSource`` of its
/// controller.
///
/// Set ``TableController/isSuspended`` during an interactive movement. The collection view does not retain the
/// adapter. Not compiled on Linux, where the tests of this package run.
@MainActor
open class CollectionViewAdapter: NSObject, UICollectionViewDataSource, UICollectionViewDelegate {
    public let controller: TableController
    /// The cells by the types of models. All, including the fallback, have to be subclasses of `UICollectionViewCell`.
    public let registry: RepresentationRegistry<ViewRepresentation>
    /// Shows the state of the table (loading, empty, failed), and of the next page.
    public var showState: (Presentation, NextPageState) -> Void = { _, _ in }
    fileprivate weak var collectionView: UICollectionView?

    public init(
        _ collectionView: UICollectionView, source: TableSource,
        registry: RepresentationRegistry<ViewRepresentation>
    ) {
        controller = TableController(source)
        self.registry = registry
        self.collectionView = collectionView
        super.init()
        collectionView.dataSource = self
        collectionView.delegate = self
        controller.display = self
    }

    private var source: TableSource { controller.source }

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
        collectionView?.refreshControl = control
    }
    #endif

    // MARK: Data source

    open func numberOfSections(in collectionView: UICollectionView) -> Int { source.numberOfSections }

    open func collectionView(_ collectionView: UICollectionView, numberOfItemsInSection section: Int) -> Int {
        source.numberOfRows(in: section)
    }

    open func collectionView(
        _ collectionView: UICollectionView, cellForItemAt indexPath: IndexPath
    ) -> UICollectionViewCell {
        let representation = representation(at: indexPath)
        let identifier = representation.reuseIdentifier
        collectionView.register(representation.viewClass, forCellWithReuseIdentifier: identifier)
        let cell = collectionView.dequeueReusableCell(withReuseIdentifier: identifier, for: indexPath)
        representation.configure(cell)
        return cell
    }

    private func representation(at indexPath: IndexPath) -> ViewRepresentation {
        let path = RowPath(indexPath)
        return registry.representation(of: source.representedObject(at: path) ?? (), state: source.state(at: path))
    }

    open func indexTitles(for collectionView: UICollectionView) -> [String]? { source.sectionIndexTitles }

    open func collectionView(
        _ collectionView: UICollectionView, indexPathForIndexTitle title: String, at index: Int
    ) -> IndexPath { IndexPath(item: 0, section: source.section(forIndexTitle: title)) }

    // MARK: Moving

    open func collectionView(_ collectionView: UICollectionView, canMoveItemAt indexPath: IndexPath) -> Bool {
        source.canMove(RowPath(indexPath))
    }

    open func collectionView(
        _ collectionView: UICollectionView, targetIndexPathForMoveOfItemFromOriginalIndexPath original: IndexPath,
        atCurrentIndexPath current: IndexPath, toProposedIndexPath proposed: IndexPath
    ) -> IndexPath { IndexPath(source.target(ofMoving: RowPath(original), to: RowPath(proposed))) }

    open func collectionView(
        _ collectionView: UICollectionView, moveItemAt indexPath: IndexPath, to target: IndexPath
    ) {
        // The collection view accepts no batch before the move has ended.
        controller.hold()
        source.move(from: RowPath(indexPath), to: RowPath(target))
        Task { controller.release() }
    }

    // MARK: Delegate

    open func collectionView(_ collectionView: UICollectionView, didSelectItemAt indexPath: IndexPath) {
        source.select(RowPath(indexPath))
    }

    open func collectionView(_ collectionView: UICollectionView, didDeselectItemAt indexPath: IndexPath) {
        source.deselect(RowPath(indexPath))
    }

    open func collectionView(_ collectionView: UICollectionView, didHighlightItemAt indexPath: IndexPath) {
        source.highlight(RowPath(indexPath))
    }

    open func collectionView(_ collectionView: UICollectionView, didUnhighlightItemAt indexPath: IndexPath) {
        source.highlight(nil)
    }

    open func collectionView(
        _ collectionView: UICollectionView, willDisplay cell: UICollectionViewCell, forItemAt indexPath: IndexPath
    ) {
        showSelection(at: indexPath)
        loadMore(showing: RowPath(indexPath))
    }

    /// Updates the view's own selection from the source.
    private func showSelection(at indexPath: IndexPath) {
        guard let collectionView else { return }
        let isSelected = source.state(at: RowPath(indexPath)).contains(.selected)
        let isShown = collectionView.indexPathsForSelectedItems?.contains(indexPath) ?? false
        if isSelected, !isShown { collectionView.selectItem(at: indexPath, animated: false, scrollPosition: []) }
        if isShown, !isSelected { collectionView.deselectItem(at: indexPath, animated: false) }
    }

    /// Loads the next page if the last visible row is near the end.
    private func loadMore(showing path: RowPath?) {
        let source = source
        if source.needsMore(showing: path) { Task { await source.loadMore(showing: path) } }
    }
}

extension CollectionViewAdapter: @MainActor TableDisplay {
    public var isOnScreen: Bool { collectionView?.window != nil }

    public func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        guard let collectionView else { return }
        collectionView.performBatchUpdates {
            update()
            collectionView.deleteSections(IndexSet(batch.deletedSections))
            collectionView.insertSections(IndexSet(batch.insertedSections))
            collectionView.deleteItems(at: batch.deletions.map { IndexPath($0) })
            collectionView.insertItems(at: batch.insertions.map { IndexPath($0) })
            for move in batch.moves { collectionView.moveItem(at: IndexPath(move.from), to: IndexPath(move.to)) }
        }
    }

    public func reload() {
        collectionView?.allowsMultipleSelection = source.allowsMultipleSelection
        collectionView?.reloadData()
    }

    public func reconfigure(_ paths: [RowPath]) {
        guard let collectionView else { return }
        let all = paths.map { IndexPath($0) }
        // reconfigureItems refuses a cell with another reuse identifier.
        let reconfigurable = all.filter {
            collectionView.cellForItem(at: $0)?.reuseIdentifier == representation(at: $0).reuseIdentifier
        }
        collectionView.reconfigureItems(at: reconfigurable)
        let replaced = Set(all).subtracting(reconfigurable)
        if !replaced.isEmpty { collectionView.reloadItems(at: Array(replaced)) }
        for indexPath in all { showSelection(at: indexPath) }
    }

    public func show(_ presentation: Presentation, more: NextPageState) {
        showState(presentation, more)
        if more == .ready { loadMore(showing: collectionView?.indexPathsForVisibleItems.max().map { RowPath($0) }) }
    }

    public func setEditing(_ isEditing: Bool) { collectionView?.isEditing = isEditing }
}
#endif

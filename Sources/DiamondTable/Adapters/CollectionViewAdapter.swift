#if canImport(UIKit) && !os(watchOS)
import DiamondModel
public import UIKit

/// The data source, delegate and display of a collection view. It passes all calls to the ``TableSource`` of its
/// controller.
///
/// Set ``TableController/isSuspended`` during an interactive movement. The collection view does not retain the
/// adapter. Not compiled on Linux, where the tests of this package run.
@MainActor
open class CollectionViewAdapter: ViewAdapter, UICollectionViewDataSource, UICollectionViewDelegate {
    public init(
        _ collectionView: UICollectionView, source: TableSource,
        registry: RepresentationRegistry<ViewRepresentation>
    ) {
        super.init(view: collectionView, source: source, registry: registry)
        collectionView.dataSource = self
        collectionView.delegate = self
        controller.display = self
    }

    // MARK: Data source

    open func numberOfSections(in collectionView: UICollectionView) -> Int { source.numberOfSections }

    open func collectionView(_ collectionView: UICollectionView, numberOfItemsInSection section: Int) -> Int {
        source.numberOfRows(in: section)
    }

    open func collectionView(
        _ collectionView: UICollectionView, cellForItemAt indexPath: IndexPath
    ) -> UICollectionViewCell {
        let representation = representation(at: indexPath) ?? registry.representation(of: ())
        let identifier = representation.reuseIdentifier
        collectionView.register(representation.viewClass, forCellWithReuseIdentifier: identifier)
        let cell = collectionView.dequeueReusableCell(withReuseIdentifier: identifier, for: indexPath)
        representation.configure(cell)
        return cell
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
    ) { willDisplay(indexPath) }
}

extension UICollectionView: RowView {
    var selectedRows: [IndexPath] { indexPathsForSelectedItems ?? [] }
    var visibleRows: [IndexPath] { indexPathsForVisibleItems }
    func reuseIdentifier(at indexPath: IndexPath) -> String? { cellForItem(at: indexPath)?.reuseIdentifier }
    func selectRow(at indexPath: IndexPath) { selectItem(at: indexPath, animated: false, scrollPosition: []) }
    func deselectRow(at indexPath: IndexPath) { deselectItem(at: indexPath, animated: false) }

    func performBatch(_ batch: TableBatch, update: @escaping () -> Void) {
        performBatchUpdates { [self] in
            update()
            deleteSections(IndexSet(batch.deletedSections))
            insertSections(IndexSet(batch.insertedSections))
            deleteItems(at: batch.deletions.map { IndexPath($0) })
            insertItems(at: batch.insertions.map { IndexPath($0) })
            for move in batch.moves { moveItem(at: IndexPath(move.from), to: IndexPath(move.to)) }
        }
    }

    func reconfigureRows(at indexPaths: [IndexPath]) { reconfigureItems(at: indexPaths) }
    func reloadRows(at indexPaths: [IndexPath]) { reloadItems(at: indexPaths) }
    func showEditing(_ isEditing: Bool) { self.isEditing = isEditing }
}
#endif

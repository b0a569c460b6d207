@_exported public import DiamondModel
import Foundation

/// The rows of a table, composed of parts. It is both the data source and the delegate of the table.
///
/// The source returns the rows as of the last change that was applied to its display, not those of the live
/// collections. A ``TableController`` applies changes in batches. Without a controller they are applied at once. A
/// source has at most one controller.
///
/// A source belongs to the isolation domain of its models. For paths out of range, its functions return `nil` or
/// `false`.
public final class TableSource {
    let parts: [any PartContent]

    weak var controller: TableController?

    // MARK: The user

    /// Whether several rows can be selected. `false` by default.
    ///
    /// A change reloads the display. When it becomes `false`, only the first selected row stays selected.
    public var allowsMultipleSelection = false {
        didSet { if allowsMultipleSelection != oldValue { limitSelection() } }
    }
    let selectionHandlers = TypeMap<(Any, RowPath) -> Void>()
    var selected: [RowKey: Any] = [:]
    var highlighted: (key: RowKey, object: Any)?
    /// The rows whose state has changed and that have to be configured again.
    var rowsToReconfigure: [RowKey: Any] = [:]
    /// Whether the display has to reload, because it shows an edit that the parts refuse.
    var needsReload = false

    // MARK: Loading

    /// The object that loads the table, such as the collection of a part; `nil` for static data.
    public let loading: (any Loadable)?
    /// The minimum number of rows after a visible row. With fewer, the next page is loaded. 5 by default.
    public var prefetchDistance = 5
    /// Returns the text for the user that describes an error. `localizedDescription` by default.
    public var describeError: (any Error) -> String = { $0.localizedDescription }
    private var loadingToken: ObserverToken?

    /// Creates a source with the sections of the parts, in their order.
    public init(_ parts: [TablePart], loading: (any Loadable)? = nil) {
        self.parts = parts.map { $0.makeContent() }
        self.loading = loading
        for part in self.parts { part.didChange = { [weak self] in self?.apply() } }
        loadingToken = loading?.loadState.observe { [weak self] _ in self?.apply() }
    }

    /// Applies the changes through the controller, or at once without a controller.
    func apply() {
        if let controller { return controller.update() }
        while let step = nextStep() { step.apply() }
    }

    /// Returns the next change that is not applied yet, in paths of the table, or `nil`.
    func nextStep() -> TableStep? {
        if needsReload {
            needsReload = false
            return TableStep(needsReload: true) {}
        }
        var sections = 0
        for part in parts {
            if let step = part.nextStep() { return deselectingRemovedRows(step.offset(by: sections)) }
            sections += part.sectionCount
        }
        if rowsToReconfigure.isEmpty { return nil }
        let updates = rowsToReconfigure.compactMap { path(of: $0.key, object: $0.value) }.sorted()
        rowsToReconfigure = [:]
        return TableStep(updates: updates) {}
    }

    private func deselectingRemovedRows(_ step: TableStep) -> TableStep {
        var step = step
        step.apply = { [self, apply = step.apply] in
            apply()
            deselectRemovedRows()
        }
        return step
    }
}

@available(*, unavailable)
extension TableSource: Sendable {}

/// The identity of a row.
struct RowKey: Hashable {
    let part: Int
    let id: AnyHashable
}

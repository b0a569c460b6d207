import Foundation

/// The rows of a table, composed of parts, and the receiver of what the user does with them: data source and delegate in one.
///
/// The source answers from the last change that was applied to its display, never from the live collections. A
/// ``TableController`` applies changes in batches; without one they are applied at once. One controller at a time has it.
///
/// A source belongs to the isolation domain of its models. Paths that are out of range are answered with `nil` or `false`.
public final class TableSource {
    let parts: [PartContent]

    weak var controller: TableController?

    // MARK: The user

    /// Whether several rows may be selected. `false` by default: the selection of a row ends that of another.
    ///
    /// Its display reloads when it changes; of several selected rows the first one stays so.
    public var allowsMultipleSelection = false {
        didSet { if allowsMultipleSelection != oldValue { limitSelection() } }
    }
    let selectionHandlers = TypeMap<(Any, RowPath) -> Void>()
    var selected: [RowKey: Any] = [:]
    var highlighted: (key: RowKey, object: Any)?
    /// The rows whose state has changed, to be configured again.
    var restated: [RowKey: Any] = [:]
    /// Whether the display shows what the parts do not allow.
    var needsReload = false

    // MARK: Loading

    /// The object that is loaded, such as the collection of a part; `nil` for a table of static data.
    public let loading: (any Loadable)?
    /// The number of rows behind the one on show below which more is loaded. 5 by default.
    public var distanceToMore = 5
    /// Returns the text for the user that describes an error. `localizedDescription` by default.
    public var describeError: (any Error) -> String = { $0.localizedDescription }
    private var loadingToken: ObserverToken?

    /// Creates a source of parts, which follow one another in the table.
    public init(_ parts: [TablePart], loading: (any Loadable)? = nil) {
        self.parts = parts.map { $0.makeContent() }
        self.loading = loading
        for part in self.parts { part.didChange = { [weak self] in self?.apply() } }
        loadingToken = loading?.loadState.observe { [weak self] _ in self?.apply() }
    }

    /// Lets the controller apply what has changed; without one it is applied at once.
    func apply() {
        if let controller { controller.update() } else { catchUp() }
    }

    /// Applies all that has changed, without any display.
    func catchUp() {
        while let step = nextStep() { step.apply() }
    }

    /// The next change that was not applied yet, in the paths of the table; `nil` when there is none.
    func nextStep() -> TableStep? {
        if needsReload {
            needsReload = false
            return TableStep(needsReload: true) {}
        }
        var sections = 0
        for part in parts {
            if let step = part.nextStep() { return pruning(step.offset(by: sections)) }
            sections += part.sectionCount
        }
        if restated.isEmpty { return nil }
        let updates = restated.compactMap { path(of: $0.key, $0.value) }.sorted()
        restated = [:]
        return TableStep(updates: updates) {}
    }

    private func pruning(_ step: TableStep) -> TableStep {
        var step = step
        step.apply = { [self, apply = step.apply] in
            apply()
            forgetAbsentRows()
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

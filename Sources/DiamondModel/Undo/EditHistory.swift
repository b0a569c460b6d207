public import Observation

/// The user's edits of models and collections, as steps that can be undone and redone.
///
/// A step has the edits of one transaction: a single assignment, ``Model/transaction(_:)``,
/// ``ModelCollection/transaction(origin:_:)``, or ``transaction(_:)`` for several objects. Values that a server has
/// sent, rollbacks and ``Model/destroy(_:)`` are no edits. Undoing a step changes the objects, not the server: save
/// them then.
///
/// ```swift
/// let history = EditHistory()
/// history.record(cities)
/// cities[0].name = "Nara"
/// history.undo()
/// ```
///
/// A history records until it is deallocated. It belongs to the isolation domain of its models, and retains those in
/// its steps. Drop it when the user signs out.
@Observable
public final class EditHistory {
    /// The maximum number of steps that can be undone. The oldest are forgotten.
    @ObservationIgnored private let limit: Int
    private var done: [[Edit]] = []
    private var undone: [[Edit]] = []
    /// The edits of the current step.
    private var open: [Edit] = []
    @ObservationIgnored private var depth = 0
    @ObservationIgnored private var isPerforming = false
    @ObservationIgnored var tokens: [ObserverToken] = []
    /// The recorded collections of recorded models.
    @ObservationIgnored var nested: [ObjectIdentifier: CollectionCore] = [:]
    /// Called after each change of the steps, with whether the newest one can be undone, and not redone.
    @ObservationIgnored var didChange: ((Bool) -> Void)?

    /// Creates an empty history.
    ///
    /// - Parameter limit: The maximum number of steps that can be undone. Default: 100.
    public init(limit: Int = 100) { self.limit = limit }

    /// Whether there is a step to undo.
    public var canUndo: Bool { !done.isEmpty || !open.isEmpty }

    /// Whether there is a step to redo. A new edit makes it `false`.
    public var canRedo: Bool { !undone.isEmpty }

    /// Runs `body`, and makes all its edits one step.
    public func transaction<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        depth += 1
        defer {
            depth -= 1
            close()
        }
        return try body()
    }

    /// Undoes the newest step: restores the values, the members of collections and their places.
    ///
    /// A step without effect is skipped: its objects have the old values by now, or the server has deleted them.
    ///
    /// - Returns: Whether anything has changed.
    @discardableResult
    public func undo() -> Bool {
        let isUndone = perform(from: \.done, to: \.undone)
        didChange?(false)
        return isUndone
    }

    /// Redoes the step that was undone last.
    ///
    /// - Returns: Whether anything has changed.
    @discardableResult
    public func redo() -> Bool {
        let isRedone = perform(from: \.undone, to: \.done)
        didChange?(true)
        return isRedone
    }

    /// Forgets all steps. Later edits are still recorded.
    public func removeAll() {
        done = []
        undone = []
        open = []
    }

    // MARK: Steps

    /// Reverts steps until one has an effect. Its edits are recorded as a step in the other direction.
    private func perform(
        from source: ReferenceWritableKeyPath<EditHistory, [[Edit]]>,
        to target: ReferenceWritableKeyPath<EditHistory, [[Edit]]>
    ) -> Bool {
        guard !isPerforming, depth == 0 else { return false }
        close()
        isPerforming = true
        defer { isPerforming = false }
        while let step = self[keyPath: source].popLast() {
            let hasEffect = Edit.revert(step)
            if !open.isEmpty { self[keyPath: target].append(Edit.distinct(open)) }
            open = []
            if hasEffect { return true }
        }
        return false
    }

    /// Adds edits to the current step.
    func add(_ edits: [Edit]) { if !edits.isEmpty { open += edits } }

    /// Ends the current step, unless it is a part of a transaction.
    func close() {
        guard depth == 0, !isPerforming, !open.isEmpty else { return }
        done.append(Edit.distinct(open))
        if done.count > limit { done.removeFirst(done.count - limit) }
        undone = []
        open = []
        didChange?(true)
    }
}

@available(*, unavailable)
extension EditHistory: Sendable {}

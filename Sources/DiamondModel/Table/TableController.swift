/// The link between a display and the source it shows, which can be exchanged.
///
/// It applies the source's changes one after the other: as a batch, within which the source's answers switch, followed by
/// the updates; or by a reload where there is no batch, or while the display is off screen. Changes that come meanwhile wait.
///
/// A display keeps its controller; the controller does not keep the display.
public final class TableController {
    private var shown: TableSource
    private var next: TableSource?
    private var isUpdating = false
    private var told: (presentation: Presentation, more: TableMore, awaitsMore: Bool)?

    public init(_ source: TableSource) {
        shown = source
        take(source)
    }

    /// The display, which reloads when it is set.
    public weak var display: (any TableDisplay)? {
        didSet {
            needsReload = true
            told = nil
            if isEditing { display?.setEditing(true) }
            update()
        }
    }

    /// The source on show. Setting one reloads the display, and nothing is heard of the former one from then on.
    ///
    /// While a change is being applied, or while the controller is suspended, the former one stays until that has ended.
    public var source: TableSource {
        get { shown }
        set {
            next = newValue
            update()
        }
    }

    /// Whether the app lets changes wait, as while a row is being dragged. `false` by default.
    ///
    /// A display lets them wait by itself for as long as it notices a gesture, which leaves this as it is.
    public var isSuspended = false {
        didSet { update() }
    }

    /// The number of gestures of the display that let changes wait.
    private var holds = 0

    /// Lets changes wait for a gesture of the display, until ``release()`` is called as often.
    package func hold() { holds += 1 }

    package func release() {
        holds -= 1
        update()
    }

    /// Whether the controls for editing are on show. `false` by default.
    public var isEditing = false {
        didSet { if isEditing != oldValue { display?.setEditing(isEditing) } }
    }

    // MARK: Updating

    /// Whether the display does not know the source's present answers.
    private var needsReload = false

    private var isWaiting: Bool { isSuspended || holds > 0 }

    /// Applies all changes, unless they have to wait. A display that does not know what is applied reloads in any case.
    func update() {
        guard !isUpdating else { return }
        isUpdating = true
        defer { isUpdating = false }
        repeat {
            while applyNext() {}
        } while tell()
    }

    /// Applies one change, and returns whether there was one.
    private func applyNext() -> Bool {
        if !isWaiting, let source = next {
            next = nil
            exchange(for: source)
        } else if !isWaiting, let step = shown.nextStep() {
            perform(step)
        } else if needsReload {
            needsReload = false
            display?.reload()
        } else {
            return false
        }
        return true
    }

    private func perform(_ step: TableStep) {
        guard let display, display.isOnScreen, !step.needsReload, !needsReload else {
            step.apply()
            needsReload = true
            return
        }
        if step.batch.isEmpty { step.apply() } else { perform(step, on: display) }
        if needsReload || step.updates.isEmpty { return }
        // The batch may have let the display leave the screen.
        if display.isOnScreen { display.reconfigure(step.updates) } else { needsReload = true }
    }

    private func perform(_ step: TableStep, on display: any TableDisplay) {
        var isApplied = false
        display.performBatch(step.batch) {
            if !isApplied { step.apply() }
            isApplied = true
        }
        if isApplied { return }
        // The display has not begun the batch, and is not to do so later.
        isApplied = true
        step.apply()
        needsReload = true
    }

    /// Tells the display of the table's state, and returns whether that is another one than before. It is told once more
    /// when a load has ended that kept it from loading more.
    private func tell() -> Bool {
        if isWaiting { return false }
        let state = (presentation: shown.presentation, more: shown.more, awaitsMore: shown.awaitsMore)
        if let told, told == state { return false }
        told = state
        display?.show(state.presentation, more: state.more)
        return true
    }

    // MARK: Sources

    private func exchange(for source: TableSource) {
        if source === shown { return }
        if shown.controller === self { shown.controller = nil }
        shown = source
        take(source)
        needsReload = true
    }

    /// Takes a source, also from another controller, which has an empty one then.
    private func take(_ source: TableSource) {
        let other = source.controller
        source.controller = self
        if let other, other !== self { other.source = TableSource([]) }
    }
}

@available(*, unavailable)
extension TableController: Sendable {}

import DiamondModel

/// Connects a display to the source that it shows. The source can be replaced.
///
/// The controller applies the source's changes one after the other, each as a batch followed by updates. The source
/// switches to its new rows within the batch. If there is no batch, or the display is off screen, the display reloads
/// instead. Changes during a batch wait.
///
/// A display holds its controller strongly; the controller holds the display weakly.
public final class TableController {
    private var shown: TableSource
    private var next: TableSource?
    private var isUpdating = false
    private var shownState: (presentation: Presentation, more: NextPageState, canLoadMore: Bool)?

    public init(_ source: TableSource) {
        shown = source
        connect(source)
    }

    /// The display. Reloads when it is set.
    public weak var display: (any TableDisplay)? {
        didSet {
            needsReload = true
            shownState = nil
            if isEditing { display?.setEditing(true) }
            update()
        }
    }

    /// The source that the display shows. Setting another one reloads the display and disconnects the former one.
    ///
    /// While a change is being applied or the controller is suspended, the former one stays in use.
    public var source: TableSource {
        get { shown }
        set {
            next = newValue
            update()
        }
    }

    /// Whether the app suspends changes, for example while a row is dragged. `false` by default.
    ///
    /// Displays suspend changes during gestures by themselves, without changing this property.
    public var isSuspended = false {
        didSet { update() }
    }

    /// The number of gestures of the display during which changes wait.
    private var holds = 0

    /// Makes changes wait during a gesture of the display, until ``release()`` was called as many times.
    package func hold() { holds += 1 }

    package func release() {
        holds -= 1
        update()
    }

    /// Whether the controls for editing are shown. `false` by default.
    public var isEditing = false {
        didSet { if isEditing != oldValue { display?.setEditing(isEditing) } }
    }

    // MARK: Updating

    /// Whether the display has to reload, because it does not show the source's current rows.
    private var needsReload = false

    private var isWaiting: Bool { isSuspended || holds > 0 }

    /// Applies all changes, unless they are suspended. A reload is never suspended.
    func update() {
        guard !isUpdating else { return }
        isUpdating = true
        defer { isUpdating = false }
        repeat {
            while applyNext() {}
        } while showState()
    }

    /// Applies one change.
    ///
    /// - Returns: Whether there was one.
    private func applyNext() -> Bool {
        if !isWaiting, let source = next {
            next = nil
            replaceSource(with: source)
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
        // The display has not started the batch. It must not start it later.
        isApplied = true
        step.apply()
        needsReload = true
    }

    /// Passes the table's state to the display if it has changed. Also passes it when a load has ended, because the
    /// display may then load more.
    ///
    /// - Returns: Whether the state has changed.
    private func showState() -> Bool {
        if isWaiting { return false }
        let state = (presentation: shown.presentation, more: shown.more, canLoadMore: shown.canLoadMore)
        if let shownState, shownState == state { return false }
        shownState = state
        display?.show(state.presentation, more: state.more)
        return true
    }

    // MARK: Sources

    private func replaceSource(with source: TableSource) {
        if source === shown { return }
        if shown.controller === self { shown.controller = nil }
        shown = source
        connect(source)
        needsReload = true
    }

    /// Connects a source. A controller that had it gets an empty source.
    private func connect(_ source: TableSource) {
        let other = source.controller
        source.controller = self
        if let other, other !== self { other.source = TableSource([]) }
    }
}

@available(*, unavailable)
extension TableController: Sendable {}

import Diamond
import Foundation

/// Decides what to show of an object that is loaded, and when to load it.
///
/// The view calls ``appear()`` and ``disappear()``, and shows what it is told. The presenter is silent about a model that was
/// replaced, and while the view is off screen; it tells the present state when the view comes back.
public final class LoadPresenter {
    /// The object that is shown.
    public var model: (any Loadable)? {
        didSet { if model !== oldValue { modelDidChange() } }
    }

    private var tokens: [ObserverToken] = []
    private var isOnScreen = false
    private let observers = Observers<Presentation>()

    public init(_ model: (any Loadable)? = nil) {
        self.model = model
        modelDidChange()
    }

    /// Returns the text for the user that describes an error. `localizedDescription` by default; the error itself is in
    /// ``LoadState/error``.
    public var describeError: (any Error) -> String = { $0.localizedDescription }

    /// The presentation of the model now.
    public var presentation: Presentation {
        guard let model else { return .nothing }
        let hasContent = model.isLoaded && model.hasContent
        return Presentation(of: model.loadState, hasContent: hasContent, describe: describeError)
    }

    /// Whether a sign is to be shown with the content, because it is being loaded again.
    public var isRefreshing: Bool {
        guard let model, case .content = presentation else { return false }
        return model.loadState.isLoading && !model.loadState.isLoadingMore
    }

    /// Calls `receive` with what is to be shown, whenever that may have changed, until the token is deallocated.
    public func observe(_ receive: @escaping (Presentation) -> Void) -> ObserverToken { observers.add(receive) }

    /// Tells what to show from now on, and loads what has to be loaded.
    ///
    /// Errors are shown, not thrown.
    public nonisolated(nonsending) func appear() async {
        isOnScreen = true
        tell()
        try? await model?.loadIfNeeded()
    }

    /// Tells nothing until the view appears again. What is being loaded goes on.
    public func disappear() { isOnScreen = false }

    /// Repeats the failed load.
    public nonisolated(nonsending) func retry() async { try? await model?.retry() }

    /// Loads what is new, as when a list is pulled.
    public nonisolated(nonsending) func refresh() async {
        try? await model?.load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Loads more, as near the end of a list.
    public nonisolated(nonsending) func loadMore() async { try? await model?.load(more: true) }

    private func modelDidChange() {
        tokens = [
            model?.loadState.observe { [weak self] _ in self?.tell() },
            model?.observeContent { [weak self] in self?.tell() },
        ].compactMap { $0 }
        tell()
    }

    private func tell() { if isOnScreen { observers.notify(presentation) } }
}

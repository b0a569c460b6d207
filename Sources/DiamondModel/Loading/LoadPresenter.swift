import Diamond
import Foundation
public import Observation

/// Decides how to present an object that is loaded, and when to load it.
///
/// The view calls ``appear()`` and ``disappear()``, and shows the presentations that it receives. Observers receive
/// nothing about a replaced model, and nothing while the view is off screen. When it appears, they receive the current
/// state.
@Observable
public final class LoadPresenter {
    /// The object that is shown.
    public var model: (any Loadable)? {
        didSet { if model !== oldValue { modelDidChange() } }
    }

    @ObservationIgnored private var tokens: [ObserverToken] = []
    @ObservationIgnored private var isOnScreen = false
    @ObservationIgnored private let observers = Observers<Presentation>()

    public init(_ model: (any Loadable)? = nil) {
        self.model = model
        modelDidChange()
    }

    /// Returns the text for the user that describes an error. `localizedDescription` by default; the error itself is in
    /// ``LoadState/error``.
    public var describeError: (any Error) -> String = { $0.localizedDescription }

    /// The current presentation of the model.
    public var presentation: Presentation {
        guard let model else { return .nothing }
        return Presentation(of: model.loadState, hasContent: model.hasContent, describe: describeError)
    }

    /// Whether to show an activity indicator with the content, because it is being loaded again.
    public var isRefreshing: Bool {
        guard let model, case .content = presentation else { return false }
        return model.loadState.isLoading && !model.loadState.isLoadingMore
    }

    /// Calls `receive` with the presentation whenever it may have changed, until the token is deallocated.
    public func observe(_ receive: @escaping (Presentation) -> Void) -> ObserverToken { observers.add(receive) }

    /// Starts reporting presentations, and loads the model if needed.
    ///
    /// Errors are shown, not thrown.
    public nonisolated(nonsending) func appear() async {
        isOnScreen = true
        notifyObservers()
        try? await model?.loadIfNeeded()
    }

    /// Stops reporting presentations until the view appears again. A running load continues.
    public func disappear() { isOnScreen = false }

    /// Repeats the failed load; without one, loads again.
    public nonisolated(nonsending) func retry() async { try? await model?.retry() }

    /// Loads new items, and adds them to the existing ones, for example after a pull to refresh.
    public nonisolated(nonsending) func refresh() async {
        try? await model?.load(Load(policy: .revalidate, scope: .refresh))
    }

    /// Loads the next page, for example near the end of a list.
    public nonisolated(nonsending) func loadMore() async { try? await model?.load(more: true) }

    private func modelDidChange() {
        tokens = [
            model?.loadState.observe { [weak self] _ in self?.notifyObservers() },
            model?.observeContent { [weak self] in self?.notifyObservers() },
        ].compactMap { $0 }
        notifyObservers()
    }

    private func notifyObservers() { if isOnScreen { observers.notify(presentation) } }
}

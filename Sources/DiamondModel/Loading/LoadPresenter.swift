import Diamond

/// What is to be shown of an object that is loaded.
public enum Presentation {
    /// Nothing yet: it is not loaded, and no load is under way.
    case nothing
    /// A sign that it is being loaded for the first time.
    case loading
    /// The content, while it is loaded again, too.
    case content
    /// A word that there is nothing.
    case empty
    /// The error, with a way to try again: ``LoadPresenter/retry()``.
    case error(any Error)
    /// A word that there is no network, with a way to try again.
    case offline(any Error)
}

/// Decides what to show of an object that is loaded, and when to load it.
///
/// The view calls ``appear()`` and ``disappear()``, and shows what it is told. Of a model that was replaced nothing is told
/// any more; while the view is not on screen nothing is told, and once when it comes back.
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

    /// What is to be shown now.
    public var presentation: Presentation { model.map { Presentation(of: $0) } ?? .nothing }

    /// Whether a sign is to be shown beside the content that it is being loaded again.
    public var isRefreshing: Bool {
        guard let model, case .content = presentation else { return false }
        return model.loadState.isLoading && !model.loadState.isLoadingMore
    }

    /// Calls `receive` with what is to be shown, whenever that may have changed, until the token is dropped.
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

    /// Loads again from the source, as after an error or when a list is pulled.
    public nonisolated(nonsending) func retry() async { try? await model?.load(policy: .revalidate) }

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

extension Presentation {
    /// What is to be shown of an object.
    public init(of model: some Loadable) {
        let state = model.loadState
        if state.isLoaded, model.hasContent {
            self = .content
        } else if state.isLoading {
            self = .loading
        } else if let error = state.error {
            self = error.isOffline ? .offline(error) : .error(error)
        } else {
            self = state.isLoaded ? .empty : .nothing
        }
    }
}

extension Error {
    /// Whether no server could be reached.
    fileprivate var isOffline: Bool {
        guard let error = self as? ConnectionError else { return false }
        return error.code == .cannotConnect
    }
}

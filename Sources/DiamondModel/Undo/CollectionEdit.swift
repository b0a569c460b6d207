/// An event of a collection for histories.
enum CollectionEdit {
    /// A model was added, which may have cancelled its unsent deletion.
    case added(Model, CollectionCore, wasDeleted: Bool)
    /// A model is about to be removed from a position.
    case removing(Model, CollectionPosition)
    /// A model is about to be moved from a position.
    case moving(Model, CollectionPosition)
    /// A model of the collection has changed.
    case changed(ModelEvent)
    /// A transaction has ended.
    case ended

    /// The event, and whether a transaction is running in a collection or model that contains it.
    struct Report {
        let edit: CollectionEdit
        let isPartial: Bool
    }
}

extension CollectionCore {
    /// Reports an edit of the user, unless the collection is reading JSON.
    func report(_ edit: @autoclosure () -> CollectionEdit?) {
        if isReading || context?.answerTime != nil { return }
        report(edit, isPartial: false)
    }

    /// Reports an edit to the histories of this collection, and of those that contain its owner.
    fileprivate func report(_ edit: () -> CollectionEdit?, isPartial: Bool) {
        if !editObservers.isEmpty, let edit = edit() {
            editObservers.notify(CollectionEdit.Report(edit: edit, isPartial: isPartial || isWithinTransaction))
        }
        owner?.report(edit, isPartial: isPartial || isInTransaction)
    }

    /// Whether a transaction is running, of the collection or of a model or collection that contains it.
    fileprivate var isWithinTransaction: Bool { isInTransaction || owner?.isWithinTransaction ?? false }
}

extension Model {
    fileprivate func report(_ edit: () -> CollectionEdit?, isPartial: Bool) {
        guard !tracking.links.isEmpty, !tracking.isVisiting else { return }
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        let isPartial = isPartial || tracking.transactionDepth > 0
        for link in links { link.report(edit, isPartial: isPartial) }
    }

    fileprivate var isWithinTransaction: Bool {
        if tracking.transactionDepth > 0 { return true }
        guard !tracking.isVisiting else { return false }
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        return links.contains {
            ($0 as? Entry)?.owner?.isWithinTransaction ?? ($0 as? ChildLink)?.owner?.isWithinTransaction ?? false
        }
    }
}

extension OwnerLink {
    /// Reports an edit in a nested collection.
    fileprivate func report(_ edit: () -> CollectionEdit?, isPartial: Bool) {
        if let entry = self as? Entry { entry.owner?.report(edit, isPartial: isPartial) }
        if let child = self as? ChildLink { child.owner?.report(edit, isPartial: isPartial) }
    }
}

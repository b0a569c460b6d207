/// Edits of a collection and its models, for histories.
struct EditReport {
    /// The edits; `nil` at the end of a transaction.
    let edits: [Edit]?
    /// Whether a transaction is running in a collection or model that contains the collection.
    let isPartial: Bool
}

extension CollectionCore {
    /// Reports edits of the user, unless the collection is reading JSON. `nil` reports the end of a transaction.
    func report(_ edits: @autoclosure () -> [Edit]?) {
        if isReading || context?.answerTime != nil { return }
        report(edits, isPartial: false)
    }

    /// Reports that a member is about to be removed or moved.
    func report(_ edit: (Model, CollectionPosition) -> Edit, _ entry: Entry) {
        report(CollectionPosition(entry).map { [edit(entry.model, $0)] } ?? [])
    }

    /// Reports edits to the histories of this collection, and of those that contain its owner.
    fileprivate func report(_ edits: () -> [Edit]?, isPartial: Bool) {
        if !editObservers.isEmpty {
            editObservers.notify(EditReport(edits: edits(), isPartial: isPartial || isWithinTransaction))
        }
        owner?.report(edits, isPartial: isPartial || isInTransaction)
    }

    /// Whether a transaction is running, of the collection or of a model or collection that contains it.
    fileprivate var isWithinTransaction: Bool { isInTransaction || owner?.isWithinTransaction ?? false }
}

extension Model {
    fileprivate func report(_ edits: () -> [Edit]?, isPartial: Bool) {
        guard !tracking.links.isEmpty, !tracking.isVisiting else { return }
        tracking.isVisiting = true
        defer { tracking.isVisiting = false }
        let isPartial = isPartial || tracking.transactionDepth > 0
        for link in links { link.report(edits, isPartial: isPartial) }
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
    fileprivate func report(_ edits: () -> [Edit]?, isPartial: Bool) {
        if let entry = self as? Entry { entry.owner?.report(edits, isPartial: isPartial) }
        if let child = self as? ChildLink { child.owner?.report(edits, isPartial: isPartial) }
    }
}

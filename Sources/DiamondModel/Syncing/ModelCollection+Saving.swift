import Diamond

extension ModelCollection {
    /// Makes an object on the server, and adds it.
    ///
    /// - Parameters:
    ///   - model: a new object.
    ///   - mode: whether it is in the collection at once, and leaves it where the server does not make it, or enters it when
    ///     the server has.
    /// - Throws: As ``add(_:)``, and as a save of the object.
    public nonisolated(nonsending) func create(_ model: Object, _ mode: SaveMode = .optimistic) async throws {
        model.syncing.server = server
        let isAdded: Bool
        if mode != .wait {
            isAdded = try add(model)
        } else {
            if let context { try context.register(model) }
            isAdded = false
        }
        do {
            try await model.save(mode == .queued ? .queued : .optimistic)
        } catch {
            // One that has an id by now is made, whatever was wrong behind that.
            if isAdded, model.isNew { remove(model) }
            throw error
        }
        // Of two calls the first may have failed, and taken it away.
        if !isAdded, core.entry(of: model) == nil, !isDeleted(model) { try add(model) }
    }

    /// Whether an object was deleted here, and that was not taken back.
    private func isDeleted(_ model: Object) -> Bool {
        context?.order.deleted.contains(ModelKey(Object.self, model.modelID)) ?? false
    }

    /// Whether the deletion of an object waits in the queue.
    private func isDeletionQueued(_ model: Object) -> Bool {
        context?.pendingDeletions.values.contains { $0.model === model } ?? false
    }

    /// Removes an object from every collection, and from the server with the next ``upload()`` or ``sync()``.
    ///
    /// ``undelete(_:)`` takes that back. No load brings it back before.
    public func delete(_ model: Object) {
        if deleted.contains(where: { $0 === model }) { return }
        model.syncing.server = server ?? model.server
        core.pager.deleted.removeAll { $0.model === model }
        core.pager.deleted.append(DeletedModel(model: model, places: CollectionPlace.leave(model)))
        if core.context == nil { core.context = model.context ?? ModelContext(engine: source?.engine) }
        context?.order.deleted.insert(ModelKey(Object.self, model.modelID))
    }

    /// Takes a deletion back: the object returns to its exact place in each collection that it has left, and stays on the
    /// server.
    ///
    /// - Returns: whether the object was deleted here, and not sent or queued since.
    @discardableResult
    public func undelete(_ model: Object) -> Bool {
        guard isDeleted(model), !isDeletionQueued(model),
            let index = core.pager.deleted.firstIndex(where: { $0.model === model })
        else {
            return false
        }
        for place in core.pager.deleted.remove(at: index).places.reversed() { place.restore(model) }
        context?.order.deleted.remove(ModelKey(Object.self, model.modelID))
        return true
    }

    /// The objects that were deleted here and may still be on the server.
    public var deleted: [Object] {
        (core.pagerIfAny?.deleted ?? []).map { unsafeDowncast($0.model, to: Object.self) }.filter(isDeleted)
    }

    /// Sends what the server does not have: deletes what was deleted here, and saves new and changed objects in their order.
    ///
    /// One call follows the other. What fails does not keep the rest from being sent, and is sent by the next upload.
    ///
    /// - Throws: ``UploadError`` with what has failed, `CancellationError`.
    public nonisolated(nonsending) func upload() async throws {
        let memberChanges = core.memberChanges
        var failures: [UploadError.Failure] = []
        // Each is looked at again: the user goes on while the others are sent.
        for model in deleted where isDeleted(model) && !isDeletionQueued(model) {
            do {
                let key = ModelKey(Object.self, model.modelID)
                let hasServerID = !model.isNew
                try await model.destroy()
                if isDeletionQueued(model) { continue }
                context?.order.deleted.remove(key)
                core.pager.deleted.removeAll { $0.model === model }
                if hasServerID { core.pager.noteDestroyed() }
            } catch {
                try Task.checkCancellation()
                failures.append(UploadError.Failure(id: model.modelID, error: error))
            }
        }
        for model in allModels where core.entry(of: model) != nil && (model.isNew || model.isDirty) {
            do {
                try await model.save()
            } catch {
                try Task.checkCancellation()
                failures.append(UploadError.Failure(id: model.modelID, error: error))
            }
        }
        if !failures.isEmpty { throw UploadError(failures: failures) }
        if core.memberChanges == memberChanges { core.hasChangedMembers = false }
    }

    /// Sends what the server does not have, and loads the list again.
    ///
    /// - Throws: As ``upload()``, without loading, and as ``load(policy:more:)``.
    public nonisolated(nonsending) func sync() async throws {
        try await upload()
        try await load(policy: .revalidate)
    }

    private var server: ModelServer? {
        guard let request = Object.resource ?? source?.request else { return nil }
        return ModelServer(engine: context?.engine ?? source?.engine, list: request)
    }
}

/// The calls of an upload that have failed.
public struct UploadError: Error, CustomStringConvertible {
    /// A call that has failed.
    public struct Failure: Sendable {
        public let id: ModelID
        public let error: any Error
    }

    public let failures: [Failure]

    public var description: String {
        let first = failures.first.map { "\($0.id): \($0.error)" } ?? ""
        return
            "\(failures.count) objects could not be sent; the first, \(first). Correct what is wrong, and upload again"
    }
}

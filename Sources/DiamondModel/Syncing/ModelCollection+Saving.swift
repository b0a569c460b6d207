import Diamond

extension ModelCollection {
    /// Creates an object on the server, and adds it to the collection.
    ///
    /// - Parameters:
    ///   - model: A new object.
    ///   - mode: The time at which the object is added: at once, or after the server has created it. An object that was
    ///     added at once is removed if the server does not create it.
    /// - Throws: The errors of ``add(_:)`` and of a save of the object.
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
            try await model.save(mode.isQueued ? mode : .optimistic)
        } catch {
            // An object with an id was created; only a later step has failed.
            if isAdded, model.isNew { core.reading { _ = remove(model) } }
            throw error
        }
        // A concurrent call may have failed and removed the object.
        let isConfirmed = !model.isNew
        if !isAdded, core.entry(of: model) == nil, !isDeleted(model) {
            if isConfirmed { _ = try core.confirming { try add(model) } } else { try add(model) }
        }
        if isConfirmed { core.confirmMembership(of: [model]) }
    }

    /// Returns whether an object was deleted here, and the deletion was not undone.
    private func isDeleted(_ model: Object) -> Bool {
        context?.order.deleted.contains(ModelKey(Object.self, model.modelID)) ?? false
    }

    /// Removes an object from every collection. The next ``upload()`` or ``sync()`` deletes it on the server.
    ///
    /// ``undelete(_:)`` undoes the deletion. No load adds the object again. An archive of the collection has the
    /// deletion.
    public func delete(_ model: Object) {
        if deleted.contains(where: { $0 === model }) { return }
        model.syncing.server = server ?? model.server
        core.pager.deleted.removeAll { $0.model === model }
        core.pager.deleted.append(DeletedModel(model: model, positions: CollectionPosition.remove(model)))
        if core.context == nil { core.context = model.context ?? ModelContext(engine: source?.engine) }
        context?.order.deleted.insert(ModelKey(Object.self, model.modelID))
    }

    /// Undoes a deletion. The object returns to its exact position in each collection, and stays on the server. If the
    /// deletion is from an archive, the object returns to the end of this collection.
    ///
    /// - Returns: Whether there was a deletion to undo: one made here that is neither queued, nor being sent, nor
    ///   confirmed.
    @discardableResult
    public func undelete(_ model: Object) -> Bool {
        guard isDeleted(model), !core.isDeletionQueued(model), !core.isBeingDestroyed(model),
            let index = core.pager.deleted.firstIndex(where: { $0.model === model })
        else {
            return false
        }
        let deletion = core.pager.deleted.remove(at: index)
        context?.order.deleted.remove(ModelKey(Object.self, model.modelID))
        for position in deletion.positions.reversed() { position.restore(model) }
        if deletion.isArchived { _ = try? add(model) }
        return true
    }

    /// The objects that were deleted here and may still be on the server.
    public var deleted: [Object] {
        core.pager.deleted.map { unsafeDowncast($0.model, to: Object.self) }.filter(isDeleted)
    }

    /// Sends all changes to the server: the deletions first, then the new and changed objects in their order.
    ///
    /// The calls are sent one after another. A failed call does not stop the others, and the next upload repeats it.
    ///
    /// - Throws: ``UploadError`` with the failed calls; `CancellationError`.
    public nonisolated(nonsending) func upload() async throws {
        let memberChanges = core.memberChanges
        var failures: [UploadError.Failure] = []
        // Each object is checked again, because the user may undo its deletion while others are sent.
        for model in deleted where isDeleted(model) && !core.isDeletionQueued(model) {
            do {
                let key = ModelKey(Object.self, model.modelID)
                let hasServerID = !model.isNew
                if model.syncing.server == nil { model.syncing.server = server }
                context?.order.destroying.insert(key)
                defer { context?.order.destroying.remove(key) }
                try await model.destroy()
                if core.isDeletionQueued(model) { continue }
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

    /// Sends all changes to the server, and loads the list again.
    ///
    /// - Throws: The errors of ``upload()``, without loading, and of ``load(policy:more:)``.
    public nonisolated(nonsending) func sync() async throws {
        try await upload()
        try await load(policy: .revalidate)
    }

    private var server: ModelServer? {
        guard let request = Object.resource ?? source?.request else { return nil }
        return ModelServer(engine: context?.engine ?? source?.engine, list: request)
    }
}

/// The failed calls of an upload.
public struct UploadError: Error, CustomStringConvertible {
    /// A failed call.
    public struct Failure: Sendable {
        public let id: ModelID
        public let error: any Error
    }

    public let failures: [Failure]

    public var description: String {
        let first = failures.first.map { "\($0.id): \($0.error)" } ?? ""
        return
            "\(failures.count) objects could not be sent, the first is \(first). Correct the errors, and upload again"
    }
}

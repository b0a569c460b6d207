import Diamond

/// The new models of a long page that is applied at once, read in pieces before. Other work of the isolation domain runs
/// between them.
final class PagePreparation {
    /// The maximum number of objects of a piece, and of a page that is applied whole. Reading as many small ones takes
    /// about a millisecond.
    static let pieceSize = 1000
    /// The length of text in bytes after which a piece of larger objects ends.
    static let pieceLength = 128 << 10

    /// The load of the page. Several callers may wait for it: each continues what the others have begun.
    private(set) weak var flight: LoadFlight?
    private var rest: ArraySlice<JSONItem>
    /// The models, by id, outside every context.
    private(set) var models: [ModelID: Model] = [:]

    init(_ page: Page, of flight: LoadFlight?) {
        self.flight = flight
        rest = page.content[...]
    }

    /// Whether a page is not applied whole.
    static func isLong(_ page: Page) -> Bool {
        if page.content.count > pieceSize { return true }
        // The elements of one text follow one another.
        guard case .element(let first, _)? = page.content.first, case .element(let last, _)? = page.content.last else {
            return false
        }
        return last.range.upperBound - first.range.lowerBound > 2 * pieceLength
    }

    /// Reads the next piece.
    ///
    /// - Returns: Whether there are more.
    func readPiece(of type: Model.Type, in context: ModelContext) -> Bool {
        var length = 0
        for item in rest.prefix(Self.pieceSize) {
            if length > Self.pieceLength { break }
            rest = rest.dropFirst()
            // An element that cannot be read is rejected when the page is applied.
            guard let object = try? item.modelObject(), let id = object.id(at: type.idKey), models[id] == nil,
                context.live(at: ModelKey(type, id)) == nil,
                let model = try? type.decoded(from: object, readers: context.readers)
            else { continue }
            length += object.element?.text.count ?? 0
            // Models with nested ones have to be read in the context.
            guard model.tracking.nesting == .absent else { rest = []; return false }
            models[id] = model
        }
        return !rest.isEmpty
    }

    /// Removes and returns the model of an object; `nil` if it was read from another object with this id.
    func take(_ id: ModelID, for object: ObjectMembers) -> Model? {
        guard let model = models.removeValue(forKey: id), model.tracking.members?.areRead(from: object) == true else {
            return nil
        }
        return model
    }
}

/// A collection, which prepares long pages, or applies them in pieces.
protocol PagePreparing: AnyObject {
    nonisolated(nonsending) func prepare(_ page: Page, of flight: LoadFlight) async
    /// Ends the work for a load that is not applied, or only in part.
    func endPreparation(of flight: LoadFlight)
}

extension ModelCollection: PagePreparing {
    nonisolated(nonsending) func prepare(_ page: Page, of flight: LoadFlight) async {
        await core.prepare(page, for: flight.load, at: flight.time, of: flight) {
            loadState.flight === flight && !Task.isCancelled
        }
    }

    func endPreparation(of flight: LoadFlight) {
        if core.preparation?.flight === flight { core.preparation = nil }
        if core.application?.time == flight.time { core.endApplication() }
    }
}

extension CollectionCore {
    /// Applies a long page in pieces, or only reads its new models in pieces.
    ///
    /// - Parameters:
    ///   - load: The load of the page.
    ///   - time: The logical time of the response.
    ///   - flight: The running load; `nil` for the page of a query.
    ///   - isCurrent: Returns whether the page will still be applied.
    nonisolated(nonsending) func prepare(
        _ page: Page, for load: Load, at time: SyncTime, of flight: LoadFlight?, while isCurrent: () -> Bool = { true }
    ) async {
        guard let context, PagePreparation.isLong(page) else { return }
        guard appliesPagesAtOnce else { return await applyPieces(of: page, of: load, at: time, while: isCurrent) }
        let shared = flight == nil || preparation?.flight !== flight ? nil : preparation
        let preparation = shared ?? PagePreparation(page, of: flight)
        self.preparation = preparation
        while isCurrent(), self.preparation === preparation, preparation.readPiece(of: type, in: context) {
            await Task.yield()
        }
    }
}

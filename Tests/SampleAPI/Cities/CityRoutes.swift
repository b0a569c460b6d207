#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// `/cities` and `/cities/{id}`.
struct CityRoutes: Sendable {
    let store: CityStore

    func add(to router: Router<SampleContext>) {
        router.get("cities", use: list)
        router.on("cities", method: .query, use: query)
        router.post("cities", use: create)
        router.get("cities/{id}", use: show)
        router.put("cities/{id}", use: put)
        router.patch("cities/{id}", use: patch)
        router.delete("cities/{id}", use: delete)
    }

    @Sendable private func list(_ request: Request, _ context: SampleContext) async throws -> Response {
        // The links repeat the query as it came, switches included, so that the next page behaves like this one.
        let query = Arguments(query: request.uri.query).remaining
        return try await page(context.arguments, linking: query).response(to: request)
    }

    @Sendable private func query(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let arguments = try await context.json(QueryBody.self, from: request).arguments
        return try await page(arguments, linking: arguments.remaining).response(to: request)
    }

    private func page(_ arguments: Arguments, linking: [Arguments.Argument]) async throws -> Representation {
        let query = try CityQuery(arguments)
        let (page, lastModified) = try await store.page(query)
        let links = PageLinks(paging: query.paging, total: page.total, arguments: linking)
        var representation = try Representation(body: JSON.encode(page), lastModified: lastModified)
        representation.headers[.link] = links.field
        return representation
    }

    @Sendable private func show(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let record = try await store.record(id(context))
        return try Representation(body: JSON.encode(record.city), lastModified: record.modified).response(
            to: request)
    }

    @Sendable private func create(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let draft = try await context.json(CityDraft.self, from: request)
        return try response(await store.create(draft), status: .created)
    }

    @Sendable private func put(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let draft = try await context.json(CityDraft.self, from: request)
        let (record, isNew) = try await store.put(id(context), draft, Preconditions(request.headers))
        return try response(record, status: isNew ? .created : .ok)
    }

    @Sendable private func patch(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let changes = try await context.json(CityChanges.self, from: request)
        return try response(await store.patch(id(context), changes, Preconditions(request.headers)), status: .ok)
    }

    @Sendable private func delete(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        try await store.delete(id(context), Preconditions(request.headers))
        return Response(status: .noContent)
    }

    private func id(_ context: SampleContext) throws -> Int {
        try context.number("id", in: City.ids)
    }

    /// What a write answers: the city as it is now, with the validators for the next one.
    private func response(_ record: CityRecord, status: HTTPResponse.Status) throws -> Response {
        let body = try JSON.encode(record.city)
        var fields: HTTPFields = [
            .eTag: EntityTag(of: body).text,
            .lastModified: HTTPDate.text(record.modified),
        ]
        if status == .created { fields[.location] = "/cities/\(record.city.id)" }
        return Response(status: status, headers: fields, json: body)
    }
}
#endif

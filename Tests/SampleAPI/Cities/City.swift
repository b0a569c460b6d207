import Foundation

/// A city as GeoNames knows it.
struct City: Codable, Equatable, Sendable {
    let id: Int
    var name: String
    /// Two capital letters, ISO 3166-1.
    var country: String
    var population: Int
    var latitude: Double
    var longitude: Double
    /// A name of the IANA time zone database.
    var timezone: String

    /// Short of the largest number, so that there is always a next one.
    static let ids = 1...Int(Int32.max)

    func validate() throws(Problem) {
        if !Self.ids.contains(id) { throw .invalid("id", "must be from 1 to \(Self.ids.upperBound)") }
        if name.isEmpty { throw .invalid("name", "must not be empty") }
        if !Self.isCountry(country) { throw .invalid("country", "must be two capital letters") }
        if population < 0 { throw .invalid("population", "must not be negative") }
        if !(-90...90).contains(latitude) { throw .invalid("latitude", "must be from -90 to 90") }
        if !(-180...180).contains(longitude) { throw .invalid("longitude", "must be from -180 to 180") }
        if timezone.isEmpty { throw .invalid("timezone", "must not be empty") }
    }

    static func isCountry(_ text: String) -> Bool {
        text.utf8.count == 2 && text.utf8.allSatisfy((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains)
    }
}

/// A city with what the server derives from it.
struct CityRecord: Sendable {
    let city: City
    let modified: Date
    let position: CityPosition

    init(_ city: City, modified: Date) {
        self.city = city
        self.modified = modified
        position = CityPosition(name: city.name.folded, population: city.population, id: city.id)
    }
}

extension String {
    /// Without case and diacritics, as search compares: `Zürich` is `zurich`.
    var folded: String {
        folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }
}

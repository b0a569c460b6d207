/// A whole city from a client, whose id may be left out.
struct CityDraft: Decodable, Sendable {
    let id: Int?
    let name: String
    let country: String
    let population: Int
    let latitude: Double
    let longitude: Double
    let timezone: String

    func city(id: Int) throws(Problem) -> City {
        if let own = self.id, own != id { throw .invalid("id", "must be \(id) or left out") }
        let city = City(
            id: id,
            name: name,
            country: country,
            population: population,
            latitude: latitude,
            longitude: longitude,
            timezone: timezone
        )
        try city.validate()
        return city
    }
}

/// The members of a city that a client wants to change.
struct CityChanges: Decodable, Sendable {
    let name: String?
    let country: String?
    let population: Int?
    let latitude: Double?
    let longitude: Double?
    let timezone: String?

    func applied(to city: City) throws(Problem) -> City {
        var city = city
        city.name = name ?? city.name
        city.country = country ?? city.country
        city.population = population ?? city.population
        city.latitude = latitude ?? city.latitude
        city.longitude = longitude ?? city.longitude
        city.timezone = timezone ?? city.timezone
        try city.validate()
        return city
    }
}

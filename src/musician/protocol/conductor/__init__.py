"""The conductor's engine: one pure decision over everything at one moment (D13). Where do we …

- decide what is missing? ``engine``; what it decides by: ``orchestra``; what it can do: ``acts``
- have a whole phase stand still for one checkpoint? ``barrier``
- let another agent's opinion count instead of the rules'? ``opinion``
- say what is out of the ordinary? ``anomalies``
"""
